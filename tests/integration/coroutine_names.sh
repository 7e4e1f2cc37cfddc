#!/bin/bash
# The functions that compilers make of a C++ coroutine are functions of their own, with names of their
# own.
. "$(dirname "$0")/lib.sh"
: "${FBLE_PROF:?path of fble-prof}"

# entered FUNCTION [PROFILE]: the number of its calls, by any caller.
entered() {
  "$REPORT" --self --format csv "${2:-$profile}" | python3 -c '
import csv, sys
print(sum(int(r["calls"] or 0) for r in csv.DictReader(sys.stdin) if r["name"] == sys.argv[1]))' "$1"
}

# counted [OPTION...]: the program of this case, counted exactly.
counted() {
  rm -f "$profile"
  "$FBLE_PROF" --exact "$@" -o "$profile" -- "$dir/generator" >"$dir/out" 2>&1 ||
    fail "it failed: $(cat "$dir/out")"
  verified "$profile"
}

source=$work/generator.cc
cat >"$source" <<'END'
#include <coroutine>
#include <exception>
struct Generator {
  struct promise_type {
    int value;
    Generator get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(int n) { value = n; return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
};
[[gnu::noinline]] static Generator numbers(int n) {
  for (int i = 0; i < n; ++i) co_yield i;
}
struct Pages {
  int first;
  [[gnu::noinline]] Generator from(int n) const {
    for (int i = 0; i < n; ++i) co_yield first + i;
  }
};
static int sum(Generator each) {
  int sum = 0;
  while (each.handle.resume(), !each.handle.done()) sum += each.handle.promise().value;
  each.handle.destroy();
  return sum;
}
int main() {
  int all = 0;
  const Pages pages{3};
  for (int i = 0; i < 100; ++i) all += sum(numbers(50)) + sum(pages.from(9));
  return all == 0;
}
END

# In gcc's code the coroutine itself and its destroyer call the actor, too.
for made_by in "g++ -fcoroutines:actor:5300:1200" "clang++:resume:5100:1000"; do
  IFS=: read -r compiler rest of_numbers of_from <<<"$made_by"
  begin "$compiler"
  # shellcheck disable=SC2086
  if ! $compiler -std=c++20 -O1 "$source" -o "$dir/generator" 2>"$dir/compiler"; then
    skip "$compiler: $(head -n 1 "$dir/compiler")"
    continue
  fi
  counted
  check "calls of numbers" "$(entered "numbers(int)")" = 100
  check "the rest of numbers" "$(entered "numbers(int) [$rest]")" = "$of_numbers"
  check "its end" "$(entered "numbers(int) [destroy]")" = 100
  check "calls of from" "$(entered "Pages::from(int) const")" = 100
  check "the rest of from" "$(entered "Pages::from(int) const [$rest]")" = "$of_from"
  check "its end" "$(entered "Pages::from(int) const [destroy]")" = 100
  "$REPORT" --cliques "$profile" | lacks_text "numbers" || fail "a coroutine is shown as recursion"
  "$REPORT" --self "$profile" | lacks_text "_Z" || fail "a mangled name is shown"
  cp "$profile" "$dir/first"

  # Another build, and an export that was read back, have the same functions.
  for format in pprof callgrind; do
    "$REPORT" --export "$format" "$profile" >"$dir/exported.$format"
  done
  has_text "fn=.* numbers(int) \[$rest\]$" "$dir/exported.callgrind" || fail "callgrind's export lacks a name"
  # shellcheck disable=SC2086
  $compiler -std=c++20 -O1 -Wl,--build-id=uuid "$source" -o "$dir/generator" || fail "there is no other build"
  counted
  for other in "$profile" "$dir/exported.pprof"; do
    "$REPORT" --diff "$dir/first" --format csv "$other" | grep "numbers(int)" >"$dir/diff"
    has_text "numbers(int) \[$rest\].*,both," "$dir/diff" || fail "$other: it is not compared"
    lacks_text ",new,\|,gone," "$dir/diff" || fail "$other: a function has no counterpart"
  done

  # A name without its parameters is that of all; with them, of the coroutine's beginning.
  counted --only "numbers(int)"
  check "only numbers(int)" "$(entered "numbers(int)")" = 100
  check "not its rest" "$(entered "numbers(int) [$rest]")" = 0
  counted --only "numbers"
  check "only numbers" "$(entered "numbers(int)")" = 100
  check "and its rest" "$(entered "numbers(int) [$rest]")" = "$of_numbers"
  counted --only "numbers(int) [$rest]"
  check "only its rest" "$(entered "numbers(int) [$rest]")" = "$of_numbers"
  check "and nothing else of it" "$(entered "numbers(int)")" = 0
done
