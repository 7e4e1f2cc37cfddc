// Real code of the recorder, watched at each access to memory.
//
// Sources that are compiled with -fsanitize=thread call a function before each access, and for each
// atomic one. Here these functions tell an observer, instead of looking for races.
#pragma once

namespace fbleprof::proof {

enum class Order { kPlain, kRelaxed, kRelease };

class Observer {
 public:
  virtual ~Observer() = default;
  // An atomic access comes: another thread may run first.
  virtual void before_atomic() {}
  // Memory is about to be written, or has just been (atomics).
  virtual void before_store(void*, unsigned) {}
  virtual void after_store(void*, unsigned, Order) {}
  // What follows a release fence is seen after what comes before it.
  virtual void at_fence() {}
};

// Null: nobody watches.
extern Observer* observer;
// While it is told something, nothing else is told: it may be made of watched code itself. One that
// changes threads sets this back first.
extern bool is_telling;

}  // namespace fbleprof::proof
