#include "tests/proof/observed.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace fbleprof::proof {

Observer* observer = nullptr;
bool is_telling = false;

void watch_by(Observer* who) { observer = who; }

namespace {

template <typename Tell>
void tell(Tell what) {
  if (!observer || is_telling) return;
  is_telling = true;
  what(*observer);
  is_telling = false;
}

void plain_store(void* at, unsigned bytes) {
  tell([=](Observer& who) { who.before_store(at, bytes); });
}

void plain_read(const void* at, unsigned bytes) {
  tell([=](Observer& who) { who.before_read(at, bytes); });
}

Order order_of(int order) {
  return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST
             ? Order::kRelease
             : Order::kRelaxed;
}

void before() {
  tell([](Observer& who) { who.before_atomic(); });
}
template <typename T>
void changing(volatile T* at) {
  tell([=](Observer& who) { who.before_change(const_cast<T*>(at), sizeof(T)); });
}
template <typename T>
void failed(volatile T* at) {
  tell([=](Observer& who) { who.after_failure(const_cast<T*>(at)); });
}
template <typename T>
void stored(volatile T* at, int order) {
  tell([=](Observer& who) { who.after_store(const_cast<T*>(at), sizeof(T), order_of(order)); });
}

}  // namespace
}  // namespace fbleprof::proof

using fbleprof::proof::before;
using fbleprof::proof::changing;
using fbleprof::proof::failed;
using fbleprof::proof::Observer;
using fbleprof::proof::plain_read;
using fbleprof::proof::plain_store;
using fbleprof::proof::stored;
using fbleprof::proof::tell;

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_atomic_thread_fence(int) {
  before();
  tell([](Observer& who) { who.at_fence(); });
}
void __tsan_atomic_signal_fence(int) {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_read_range(void* at, std::size_t bytes) {
  plain_read(at, static_cast<unsigned>(bytes));
}
void __tsan_write_range(void* at, std::size_t bytes) {
  plain_store(at, static_cast<unsigned>(bytes));
}

#define PLAIN(prefix, bytes)                                             \
  void __tsan_##prefix##read##bytes(void* at) { plain_read(at, bytes); } \
  void __tsan_##prefix##write##bytes(void* at) { plain_store(at, bytes); }
#define PLAIN_ALL(prefix) \
  PLAIN(prefix, 1) PLAIN(prefix, 2) PLAIN(prefix, 4) PLAIN(prefix, 8) PLAIN(prefix, 16)
PLAIN_ALL()
PLAIN_ALL(unaligned_)
PLAIN_ALL(volatile_)
PLAIN_ALL(unaligned_volatile_)

#define CHANGE(bits, T, name)                                          \
  T __tsan_atomic##bits##_##name(volatile T* at, T value, int order) { \
    before();                                                          \
    changing(at);                                                      \
    const T old = __atomic_##name(at, value, __ATOMIC_SEQ_CST);        \
    stored(at, order);                                                 \
    return old;                                                        \
  }
#define COMPARE(bits, T, name)                                                                  \
  int __tsan_atomic##bits##_##name(volatile T* at, T* expected, T value, int order, int) {      \
    before();                                                                                   \
    changing(at);                                                                               \
    const bool done = __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST, \
                                                  __ATOMIC_SEQ_CST);                            \
    if (done) stored(at, order);                                                                \
    if (!done) failed(at);                                                                      \
    return done;                                                                                \
  }
#define ATOMIC(bits, T)                                                                          \
  T __tsan_atomic##bits##_load(const volatile T* at, int) {                                      \
    before();                                                                                    \
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                \
  }                                                                                              \
  void __tsan_atomic##bits##_store(volatile T* at, T value, int order) {                         \
    before();                                                                                    \
    changing(at);                                                                                \
    __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                               \
    stored(at, order);                                                                           \
  }                                                                                              \
  T __tsan_atomic##bits##_exchange(volatile T* at, T value, int order) {                         \
    before();                                                                                    \
    changing(at);                                                                                \
    const T old = __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                              \
    stored(at, order);                                                                           \
    return old;                                                                                  \
  }                                                                                              \
  CHANGE(bits, T, fetch_add)                                                                     \
  CHANGE(bits, T, fetch_sub)                                                                     \
  CHANGE(bits, T, fetch_and)                                                                     \
  CHANGE(bits, T, fetch_or)                                                                      \
  COMPARE(bits, T, compare_exchange_strong)                                                      \
  COMPARE(bits, T, compare_exchange_weak)                                                        \
  T __tsan_atomic##bits##_compare_exchange_val(volatile T* at, T expected, T value, int order,   \
                                               int) {                                            \
    before();                                                                                    \
    changing(at);                                                                                \
    const bool done = __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_SEQ_CST, \
                                                  __ATOMIC_SEQ_CST);                             \
    if (done) stored(at, order);                                                                 \
    if (!done) failed(at);                                                                       \
    return expected;                                                                             \
  }
ATOMIC(8, std::uint8_t)
ATOMIC(16, std::uint16_t)
ATOMIC(32, std::uint32_t)
ATOMIC(64, std::uint64_t)

}  // extern "C"
