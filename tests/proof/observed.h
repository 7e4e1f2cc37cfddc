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
};

// Null: nobody watches.
extern Observer* observer;

}  // namespace fbleprof::proof
