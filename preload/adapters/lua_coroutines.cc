#include "adapters/lua_coroutines.h"

#include <stdlib.h>

namespace fbleprof::adapters {

namespace {

constexpr std::uint32_t kFirstCalls = 32, kFirstBuckets = 256;
// Lua's own limit is a million slots of its stack; a call takes about four.
constexpr std::size_t kMostEntries = 1 << 18;

std::uint32_t bucket_of(const lua_State* state, std::uint32_t buckets) {
  const auto hashed = reinterpret_cast<std::uint64_t>(state) * 0x9e3779b97f4a7c15;
  return static_cast<std::uint32_t>(hashed >> 40) & (buckets - 1);
}

}  // namespace

void Coroutine::end(const CallInfo* info) {
  std::uint32_t at = count;
  while (at != 0 && calls[at - 1].info != info) --at;
  if (at == 0) return;
  while (count >= at) fbleprof_leave(calls[--count].block);
}

bool Coroutine::grow() {
  const std::uint32_t more = capacity != 0 ? 2 * capacity : kFirstCalls;
  auto* grown = static_cast<LuaCall*>(realloc(calls, more * sizeof(LuaCall)));
  if (!grown) return false;
  calls = grown;
  capacity = more;
  return true;
}

Coroutine* Coroutines::of(lua_State* state) {
  if (count_ >= bucket_count_) grow();
  if (bucket_count_ == 0) return nullptr;
  Coroutine** slot = &buckets_[bucket_of(state, bucket_count_)];
  for (Coroutine* found = *slot; found; found = found->next) {
    if (found->state == state) return found;
  }
  auto* made = static_cast<Coroutine*>(calloc(1, sizeof(Coroutine)));
  if (!made) return nullptr;
  made->state = state;
  made->next = *slot;
  *slot = made;
  ++count_;
  return made;
}

void Coroutines::grow() {
  const std::uint32_t buckets = bucket_count_ != 0 ? 2 * bucket_count_ : kFirstBuckets;
  auto** grown = static_cast<Coroutine**>(calloc(buckets, sizeof(Coroutine*)));
  if (!grown) return;
  for (std::uint32_t i = 0; i < bucket_count_; ++i) {
    while (Coroutine* moved = buckets_[i]) {
      buckets_[i] = moved->next;
      Coroutine** slot = &grown[bucket_of(moved->state, buckets)];
      moved->next = *slot;
      *slot = moved;
    }
  }
  free(buckets_);
  buckets_ = grown;
  bucket_count_ = buckets;
}

fbleprof_context* Coroutines::take_context() {
  while (pooled_ != 0) {
    fbleprof_context* context = pool_[--pooled_];
    if (fbleprof_context_reset(context) == 0) return context;
    fbleprof_context_free(context);
  }
  return fbleprof_context_new(kMostEntries);
}

void Coroutines::give_back_context(Coroutine& from) {
  if (!from.context) return;
  if (pooled_ < kPooled) {
    pool_[pooled_++] = from.context;
  } else {
    fbleprof_context_free(from.context);
  }
  from.context = nullptr;
}

// Frees the context of a coroutine that has ended. One without a context gives its blocks up.
void Coroutines::leave_current() {
  Coroutine* from = current_;
  if (!from || from->is_first) return;
  if (!from->context) fbleprof_rewind(from->mark);
}

Coroutine* Coroutines::switch_to(lua_State* state, bool is_new) {
  Coroutine* to = of(state);
  if (!to) return nullptr;
  leave_current();
  if (!has_first_) {
    has_first_ = true;
    to->is_first = true;
  }
  if (to->is_first) {
    fbleprof_context_switch(nullptr);
  } else {
    if (is_new) {
      to->count = 0;
      // The coroutine is below the code that resumes it.
      if (to->context && fbleprof_context_reset(to->context) != 0) to->context = nullptr;
    }
    if (!to->context && to->count == 0) to->context = take_context();
    if (to->context) {
      fbleprof_context_switch(to->context);
    } else {
      to->mark = fbleprof_mark();
      for (std::uint32_t i = 0; i < to->count; ++i) fbleprof_redo(to->calls[i].block);
    }
  }
  if (current_ && current_ != to && current_->is_empty()) give_back_context(*current_);
  current_ = to;
  return to;
}

void Coroutines::forget(const void* global) {
  if (current_ && current_->global == global && !current_->is_first) {
    leave_current();
    fbleprof_context_switch(nullptr);
    current_ = nullptr;
  }
  for (std::uint32_t i = 0; i < bucket_count_; ++i) {
    for (Coroutine** at = &buckets_[i]; *at;) {
      Coroutine* const one = *at;
      if (one->global != global || one->is_first) {
        at = &one->next;
        continue;
      }
      *at = one->next;
      --count_;
      give_back_context(*one);
      free(one->calls);
      free(one);
    }
  }
}

void Coroutines::free_memory() {
  if (current_ && current_->context) fbleprof_context_switch(nullptr);
  for (std::uint32_t i = 0; i < bucket_count_; ++i) {
    while (Coroutine* one = buckets_[i]) {
      buckets_[i] = one->next;
      fbleprof_context_free(one->context);
      free(one->calls);
      free(one);
    }
  }
  free(buckets_);
  while (pooled_ != 0) fbleprof_context_free(pool_[--pooled_]);
}

}  // namespace fbleprof::adapters
