// Watches real code of the recorder at each access to memory.
//
// Sources that are compiled with -fsanitize=thread call a function before each access, and for each
// atomic one. Here these functions tell an observer, instead of looking for races.
#pragma once

namespace fbleprof::proof {

enum class Order { kPlain, kRelaxed, kRelease };

class Observer {
 public:
  virtual ~Observer() = default;
  // Before an atomic access: another thread may run first.
  virtual void before_atomic() {}
  // Memory is about to be read, not by an atomic access.
  virtual void before_read(const void*, unsigned) {}
  // Memory is about to be written, or has just been (atomics).
  virtual void before_store(void*, unsigned) {}
  virtual void after_store(void*, unsigned, Order) {}
  // An atomic access is about to write, after before_atomic(); or it did not, as it expected
  // another value.
  virtual void before_change(void*, unsigned) {}
  virtual void after_failure(void*) {}
  // Stores after a release fence become visible after those before it.
  virtual void at_fence() {}
};

// Null: no observer.
extern Observer* observer;
// Sets it, from code that is watched itself.
void watch_by(Observer* who);
// Set while the observer runs, which suppresses nested calls, as it may consist of watched code
// itself. An observer that switches threads clears it first.
extern bool is_telling;

}  // namespace fbleprof::proof
