#!/bin/bash
# Allocations by context: exact with hooks, sampled elsewhere.
. "$(dirname "$0")/lib.sh"
wrappers=$(dirname "$LIB")/libfbleprof_alloc.so

# recording MODE: the settings of a run that records allocations.
recording() { settings=("LD_PRELOAD=$LIB:$wrappers" "FBLEPROF_ALLOCS=$1"); }
# total METRIC [FILE]: the whole profile's total.
total() {
  "$REPORT" --metrics --format csv "${2:-$profile}" | awk -F, -v name="$1" '$1 == name { print $4 }'
}
# self METRIC FUNCTION: the function's own amount.
self() {
  "$REPORT" --self --metric "$1" --format csv "$profile" | python3 -c '
import csv, sys
print(sum(int(row["self"]) for row in csv.DictReader(sys.stdin) if row["name"] == sys.argv[1]))' "$2"
}

for mode in plain fentry mcountc cyg; do
  for way in exact 1K; do
    begin "a handler on a signal stack of 3 kB, $way, $mode"
    recording $way
    settings+=(FBLEPROF_RATE=1)  # a sample has no room there
    same "$PROGRAMS/scant_stack.$mode"
    verified "$profile"
  done
done

begin "a program that does not call malloc"
recording exact
profiled "$PROGRAMS/sigactions.plain"
"$REPORT" --allocations "$profile" | has_text "nothing was recorded" || fail "it does not say so"
"$REPORT" --allocations --select actions "$profile" >"$dir/focused" 2>&1
lacks_text "nothing was recorded" "$dir/focused" || fail "a filter is not the recording"

begin "the wrappers are not in the tree, and their time is profiling cost"
recording 512K
same "$PROGRAMS/natives.plain" 100
verified "$profile"
"$REPORT" --export folded --metric cpu -o - "$profile" >"$dir/paths"
has_text ';main;allocate;malloc[; ]' "$dir/paths" || fail "no sample in malloc: $(cat "$dir/paths")"
lacks_text 'malloc \[\|free \[\|_alloc\.so' "$dir/paths" || fail "a function stands below itself"
check "profiling cost" "$("$REPORT" --summary --format csv "$profile" | sed -n 's/.*,overhead_ns,//p')" -gt 0

for part in containers forms leaks threads; do
  dhat=
  # The loader makes a table for each thread, with 16 bytes for each library that has thread-local
  # variables: ours are two more. The second four threads take over those of the first.
  own=0
  [ $part != threads ] || own=$((4 * 2 * 16))
  for mode in fentry cyg plain; do
    begin "as many blocks and bytes as DHAT counts, $part, $mode"
    recording exact
    same "$PROGRAMS/allocates.$mode" "$part"
    verified "$profile"
    if command -v valgrind >/dev/null; then
      [ -n "$dhat" ] || {
        valgrind --tool=dhat --dhat-out-file="$dir/dhat.json" "$PROGRAMS/allocates.plain" "$part" \
          >/dev/null 2>&1
        dhat=$(python3 "$here/../oracle/dhat.py" "$dir/dhat.json" | cut -d' ' -f1,2)
      }
      check "blocks and bytes" "$(total allocations) $(($(total allocated) - own))" = "$dhat"
    fi
    check "none is unrecorded" "$(total unrecorded-allocations)" = 0
  done
done

begin "as many blocks and bytes as DHAT counts, Lua"
if command -v valgrind >/dev/null && command -v lua5.4 >/dev/null; then
  cat >"$dir/program.lua" <<'END'
local words, rows = {}, {}
for i = 1, 300 do
  words[i] = string.rep(string.char(97 + i % 26), i % 40) .. i
  rows[i] = {i, words[i], function() return i end}
end
print(#table.concat(words, ","), rows[300][3]())
END
  recording exact
  same lua5.4 "$dir/program.lua"
  valgrind --tool=dhat --dhat-out-file="$dir/dhat.json" lua5.4 "$dir/program.lua" >/dev/null 2>&1
  check "blocks and bytes" "$(total allocations) $(total allocated)" = \
    "$(python3 "$here/../oracle/dhat.py" "$dir/dhat.json" | cut -d' ' -f1,2)"
else
  skip "valgrind or lua5.4 is not installed"
fi

for preloaded in "$wrappers" "$wrappers:$LIB"; do
  begin "memory while the wrappers look for the allocator, $preloaded"
  settings=("LD_PRELOAD=$preloaded:$PROGRAMS/early_allocations.plain" FBLEPROF_ALLOCS=exact)
  profiled "$PROGRAMS/allocates.plain" containers
  check "all holds" "$(tail -n 1 "$dir/profiled.out")" = "early: 0 of 24 failed"
done

begin "a C program that loads a C++ plugin"
recording exact
same "$PROGRAMS/plugin_host.plain" "$PROGRAMS/new_plugin.plain" "$PROGRAMS/new_plugin.plain"
verified "$profile"
check "the plugin's blocks" "$(self allocations 'operator new(unsigned long)')" = $((7500 * 5))
check "and aligned ones" "$(self allocations 'operator new(unsigned long, std::align_val_t)')" = $((7500 * 4))

begin "a C program that loads a C++ plugin of another C++ library"
libcxx=$(echo /usr/lib/*/libc++.so.1)
if [ -e "$libcxx" ] && g++ -O2 -fPIC -shared -nodefaultlibs "$here/../programs/new_plugin.cc" \
  -o "$dir/plugin.so" "$libcxx" -lc 2>"$dir/plugin.err"; then
  recording exact
  same "$PROGRAMS/plugin_host.plain" "$dir/plugin.so" "$dir/plugin.so"
  verified "$profile"
  check "the plugin's blocks" "$(self allocations 'operator new(unsigned long)')" -ge $((7500 * 5))
else
  skip "there is no libc++"
fi

begin "an allocator that calls the program's malloc"
recording exact
same "$PROGRAMS/allocates.plain" forms
all="$(total allocations) $(total allocated) $(total freed) $(total leaked-blocks)"
recording exact
settings[0]+=:$PROGRAMS/calling_allocator.plain
same "$PROGRAMS/allocates.plain" forms
check "each block counts once" \
  "$(total allocations) $(total allocated) $(total freed) $(total leaked-blocks)" = "$all"

begin "a program with a malloc of its own"
recording exact
same "$PROGRAMS/own_malloc.plain"
"$REPORT" --summary "$profile" >"$dir/summary"
has_text own_malloc "$dir/summary" || fail "no remark"

begin "a program at a fixed address that takes the address of malloc"
cat >"$dir/address.c" <<'C'
#include <stdlib.h>
void *(*volatile take)(size_t) = malloc;
int main(void) { free(take(5000)); return 0; }
C
gcc -O1 -fno-pie -no-pie "$dir/address.c" -o "$dir/address" || fail "no program"
recording exact
same "$dir/address"
"$REPORT" --summary "$profile" >"$dir/summary"
has_text "malloc of its own" "$dir/summary" && fail "the stub is taken for a definition"
check "its block" "$(total allocated)" = 5000

begin "a program with an allocator of its own, but not operator new"
cat >"$dir/own.cc" <<'CC'
#include <cstdio>
#include <cstdlib>
static char heap[1 << 24];
static std::size_t used = 0;
static int strangers = 0;
static bool is_own(void* block) { return block >= heap && block < heap + sizeof heap; }
extern "C" {
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  const std::size_t at = (used + alignment - 1) / alignment * alignment;
  used = at + bytes;
  return heap + at;
}
void* malloc(std::size_t bytes) { return aligned_alloc(16, bytes); }
void* calloc(std::size_t count, std::size_t bytes) { return malloc(count * bytes); }
void* realloc(void* old, std::size_t bytes) {
  char *block = static_cast<char*>(malloc(bytes)), *from = static_cast<char*>(old);
  // It may copy what is behind the old block, but not the new one.
  for (std::size_t i = 0; from != nullptr && i < bytes && from + i < block; ++i) block[i] = from[i];
  return block;
}
void free(void* block) { strangers += block != nullptr && !is_own(block); }
}
struct alignas(64) Wide {
  char bytes[64];
};
int main() {
  for (int i = 0; i < 100; ++i) {
    int* volatile number = new int(3);
    Wide* volatile wide = new Wide;
    strangers += !is_own(number) + !is_own(wide);
    delete number;
    delete wide;
  }
  std::printf("%d are not its own\n", strangers);
}
CC
g++ -O1 "$dir/own.cc" -o "$dir/own" || fail "no program"
recording exact
same "$dir/own"
verified "$profile"
check "its blocks" "$(self allocations main)" = 200
check "what it deletes is freed" "$(self live-blocks main)" = 0

begin "a program with an operator delete of its own"
recording exact
same "$PROGRAMS/own_delete.plain"
verified "$profile"
check "its blocks" "$(self allocations 'operator new(unsigned long)')" = $((100 * 5))
check "what it deletes is freed" "$(total leaked-blocks)" -lt 20

for mode in fentry plain; do
  begin "mappings count on request, $mode"
  recording exact,mmap
  same "$PROGRAMS/faults.$mode" 2000
  check "as many bytes as were mapped" "$(self allocated touches)" = $((2000 * 4096))
  check "and unmapped" "$(total freed)" = $((2000 * 4096))
  recording exact
  same "$PROGRAMS/faults.$mode" 2000
  check "not without" "$(self allocated touches)" = 0
done

begin "a file that mremap moves is no allocation"
cat >"$dir/moves.c" <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char** argv) {
  const int file = open(argv[argc - 1], O_RDWR | O_CREAT, 0600);
  if (ftruncate(file, 64 << 20) != 0) return 1;
  void* memory = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE, file, 0);
  return mremap(memory, 1 << 20, 64 << 20, MREMAP_MAYMOVE) == MAP_FAILED;
}
C
gcc "$dir/moves.c" -o "$dir/moves" || fail "no program"
recording exact,mmap
same "$dir/moves" "$dir/file"
verified "$profile"
check "nothing" "$(($(total allocated) < 1 << 20))" = 1

begin "mappings end, whatever their size, and in which pieces"
cat >"$dir/pieces.c" <<'C'
#define _GNU_SOURCE
#include <sys/mman.h>
#define MIB (1L << 20)
#define KEEP __attribute__((noinline))
enum { kMemory = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE };
#define map(bytes, protection) mmap(0, bytes, protection, kMemory, -1, 0)
#define map_at(at, bytes, protection) mmap(at, bytes, protection, kMemory | MAP_FIXED, -1, 0)
KEEP static void tail(void) {
  char* memory = map(4 * MIB, PROT_READ | PROT_WRITE);
  munmap(memory + 3 * MIB, MIB);
  munmap(memory, 3 * MIB);
}
KEEP static void neighbours(void) {
  char* memory = map(8 * MIB, PROT_NONE);
  map_at(memory, 4 * MIB, PROT_READ | PROT_WRITE);
  map_at(memory + 4 * MIB, 4 * MIB, PROT_READ | PROT_WRITE);
  munmap(memory, 8 * MIB);
}
KEEP static void replaced(void) {
  map_at(map(16 * MIB, PROT_READ | PROT_WRITE), 16 * MIB, PROT_NONE);
}
KEEP static void large(void) {
  munmap(map(40L << 30, PROT_READ | PROT_WRITE), 40L << 30);
}
KEEP static void kept(void) {
  char* memory = map(4 * MIB, PROT_READ | PROT_WRITE);
  munmap(memory + MIB, MIB);
}
// What the kernel refuses ends nothing.
KEEP static void refused(void) {
  char* memory = map(4 * MIB, PROT_READ | PROT_WRITE);
  munmap(memory + 8, 4 * MIB);
  munmap(memory, ~0UL);
  munmap(memory, 1UL << 62);
  munmap(memory, 0);
}
int main(void) {
  tail();
  neighbours();
  replaced();
  large();
  kept();
  refused();
  return 0;
}
C
gcc "$dir/pieces.c" -o "$dir/pieces" || fail "no program"
recording exact,mmap
same "$dir/pieces"
verified "$profile"
for function in tail neighbours replaced large; do
  check "$function maps" "$(self allocated $function)" -ge $((4 << 20))
  check "of $function nothing is live" "$(self live $function)" = 0
  check "and no block" "$(self live-blocks $function)" = 0
done
check "around a hole, what is there" "$(self live kept)" = $((3 << 20))
check "in two pieces" "$(self live-blocks kept)" = 2
check "what cannot be unmapped is live" "$(self live refused) $(self live-blocks refused)" = "$((4 << 20)) 1"

begin "memory that mremap enlarges is sampled like other memory"
cat >"$dir/grows.c" <<'C'
#define _GNU_SOURCE
#include <sys/mman.h>
int main(void) {
  for (int i = 0; i < 50; ++i) {
    void* memory = mmap(0, 64 << 10, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memory = mremap(memory, 64 << 10, 64 << 20, MREMAP_MAYMOVE);
    if (memory == MAP_FAILED || munmap(memory, 64 << 20) != 0) return 1;
  }
  return 0;
}
C
gcc "$dir/grows.c" -o "$dir/grows" || fail "no program"
for way in exact,mmap sample,mmap; do
  recording $way
  same "$dir/grows"
  verified "$profile"
  check "50 times 64 MiB, $way" "$(($(total allocated) > 2 << 30 && $(total allocated) < 9 << 29))" = 1
done

for mode in fentry plain; do
  for others in 0 3; do
    begin "what mremap moved is elsewhere, $mode, and in its old place are $others other pages"
    recording exact,mmap
    [ $others = 0 ] || settings[0]+=:$PROGRAMS/calling_allocator.plain
    same "$PROGRAMS/allocates.$mode" remaps
    verified "$profile"
    # Of a library without hooks, the program's function has them.
    check "what is mapped and moved" \
      $(($(self allocated 'remaps()') + $(self allocated mremap))) = $(((5 + others) * 4096))
    check "one page and what came to the old places are left" \
      $(($(self leaked 'remaps()') + $(self leaked mremap))) = $(((1 + others) * 4096))
  done
done

begin "a sandbox refuses to read memory"
readv=310 EPERM=1
recording exact
run profiled -- "$PROGRAMS/refusing.plain" $readv=$EPERM -- env "${settings[@]}" FBLEPROF_OUT="$profile" \
  "$PROGRAMS/allocates.plain" leaks
check "what leaks is told" "$(self leaked-blocks 'leak()')" = 1000
check "nothing is shown as lost" "$(self lost-blocks 'leak()')" = 0
"$REPORT" --raw "$profile" | has_text "refuses to read memory (process_vm_readv): no block" || fail "nothing is said"

for mode in fentry cyg plain; do
  begin "each function has what it allocated, and leaks are told, $mode"
  recording exact
  same "$PROGRAMS/allocates.$mode" leaks
  check "what is lost" "$(self allocations 'leak()') $(self allocated 'leak()')" = "1000 100000"
  check "what is kept" "$(self allocations 'keep(int)') $(self allocated 'keep(int)')" = "50 50000"
  check "both leak" "$(self leaked-blocks 'leak()') $(self leaked 'keep(int)')" = "1000 50000"
  check "nearly all of one is lost" "$(self lost-blocks 'leak()')" -gt 900
  check "nothing of the other is" "$(self lost-blocks 'keep(int)')" = 0

  begin "what fails is no allocation, and throws, $mode"
  recording exact
  same "$PROGRAMS/allocates.$mode" fails
  check "but the exception's" "$(self allocated 'fails()')" -lt 1000

  begin "the peak tells who held it, $mode"
  recording exact
  same "$PROGRAMS/allocates.$mode" peak
  check "it was held" "$(self peak 'hold(unsigned long)')" -gt $((8 * 1024 * 1024 * 94 / 100))
  check "not by what came later" "$(self peak 'hold_less(unsigned long)')" = 0
  check "it is gone" "$(self live 'hold(unsigned long)')" = 0

  begin "blocks that other threads free are freed, $mode"
  recording exact
  same "$PROGRAMS/allocates.$mode" threads
  check "given" "$(self allocations 'give(void*)')" = 80000
  check "freed elsewhere" "$(self frees-elsewhere 'give(void*)')" -gt 20000
  check "nothing is left" "$(self live-blocks 'give(void*)')" = 0

  begin "a forked child has its own allocations, $mode"
  recording exact
  same "$PROGRAMS/allocates.$mode" fork
  verified "$profile" "$profile".[0-9]*
  check "the parent's" "$(self allocations 'in_child()')" = 0
  profile=$(echo "$profile".[0-9]*)
  check "the child's" "$(self allocations 'in_child()') $(self leaked 'in_child()')" = "3000 3000000"
done

begin "what is sampled is estimated without bias"
recording exact
same "$PROGRAMS/allocates.plain" containers threads
exact=$(total allocated) within=0
recording 4K
for _ in 1 2 3 4 5; do
  rm "$profile"
  profiled "$PROGRAMS/allocates.plain" containers threads
  # Three standard deviations: one run in 370 is farther off.
  within=$((within + $(awk -v a="$(total allocated)" -v b="$exact" -v n="$(total allocation-samples)" \
    'BEGIN { off = a / b - 1; print (off < 0 ? -off : off) <= 3 / sqrt(n) }')))
done
verified "$profile"
check "estimates within 3/sqrt(samples), of 5" "$within" -ge 4

begin "a C program loads plugins that contain the C++ library"
cat >"$dir/plugin.cc" <<'CC'
#include <string>
#include <vector>
extern "C" int work(int count) {
  std::vector<std::string> texts;
  texts.reserve(1000);
  for (int i = 0; i < count; ++i) texts.push_back(std::string(100, 'a'));
  return static_cast<int>(texts.size());
}
CC
cat >"$dir/host.c" <<'C'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    void* plugin = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    if (!plugin) return puts(dlerror());
    printf("%d\n", ((int (*)(int))dlsym(plugin, "work"))(1000));
    dlclose(plugin);
  }
  return 0;
}
C
for plugin in one two; do
  g++ -O1 -shared -fPIC -static-libstdc++ -static-libgcc "$dir/plugin.cc" -o "$dir/$plugin.so" || fail "no plugin"
done
gcc "$dir/host.c" -o "$dir/host" -ldl || fail "no host"
recording exact
same "$dir/host" "$dir/one.so" "$dir/two.so"
verified "$profile"
check "two times 1001 blocks" "$(self allocations 'operator new(unsigned long)')" = 2002
# The library that contains it is there for another one's sake.
printf 'int own(int count);\nint work(int count) { return own(count); }\n' >"$dir/needing.c"
g++ -O1 -Dwork=own -shared -fPIC -static-libstdc++ -static-libgcc "$dir/plugin.cc" -o "$dir/libown.so" || fail "no library"
gcc -shared -fPIC "$dir/needing.c" -o "$dir/needing.so" -L"$dir" -lown -Wl,-rpath,"$dir" || fail "no plugin"
recording exact
same "$dir/host" "$dir/needing.so"
verified "$profile"
check "1001 blocks" "$(self allocations 'operator new(unsigned long)')" = 1001

begin "a C program loads a plugin with operators of its own, which the C++ library calls, too"
cat >"$dir/plugin.cc" <<'CC'
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
static int made = 0, deleted = 0;
void* operator new(std::size_t bytes) {
  ++made;
  return static_cast<char*>(std::malloc(bytes + 64)) + 64;
}
void operator delete(void* block) noexcept {
  ++deleted;
  std::free(static_cast<char*>(block) - 64);
}
extern "C" int work(int count) {
  for (int i = 0; i < count; ++i) {
    int* volatile number = new int(i);
    delete number;
    std::string text(20, 'a');
    text.append(100, 'b');
  }
  std::printf("%d made, %d deleted\n", made, deleted);
  return deleted;
}
CC
cat >"$dir/host.c" <<'C'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char** argv) {
  void* plugin = dlopen(argv[argc - 1], RTLD_NOW | RTLD_LOCAL);
  if (!plugin) return puts(dlerror());
  printf("%d\n", ((int (*)(int))dlsym(plugin, "work"))(1000));
  return 0;
}
C
gcc "$dir/host.c" -o "$dir/host" -ldl || fail "no host"
for options in "" -Wl,-Bsymbolic-functions; do
  # shellcheck disable=SC2086
  g++ -O1 -shared -fPIC $options "$dir/plugin.cc" -o "$dir/plugin.so" || fail "no plugin"
  recording exact
  same "$dir/host" "$dir/plugin.so"
  verified "$profile"
  check "nothing is lost, $options" "$(($(total live-blocks) < 100))" = 1
done
# The operators of a library that the plugin needs, before the C++ library's.
cat >"$dir/pool.cc" <<'CC'
#include <cstddef>
#include <cstdlib>
void* operator new(std::size_t bytes) {
  return static_cast<char*>(std::malloc(bytes + 64)) + 64;
}
void operator delete(void* block) noexcept { std::free(static_cast<char*>(block) - 64); }
void operator delete(void* block, std::size_t) noexcept { operator delete(block); }
int* made(int value) { return new int(value); }
CC
cat >"$dir/needing.cc" <<'CC'
#include <stdexcept>
int* made(int value);
extern "C" int work(int count) {
  for (int i = 0; i < count; ++i) delete made(i);
  if (count < 0) throw std::runtime_error("negative");
  return count;
}
CC
g++ -O1 -shared -fPIC "$dir/pool.cc" -o "$dir/libpool.so" || fail "no library"
g++ -O1 -shared -fPIC "$dir/needing.cc" -o "$dir/needing.so" -L"$dir" -lpool -Wl,-rpath,"$dir" || fail "no plugin"
recording exact
same "$dir/host" "$dir/needing.so"
verified "$profile"

pool=$dir  # has pool.cc
begin "plugins with and without operators of their own, one after the other at one place"
cat >"$dir/turns.c" <<'C'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    void* plugin = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    if (!plugin) return puts(dlerror());
    printf("%d\n", ((int (*)(int))dlsym(plugin, "work"))(100));
    dlclose(plugin);
  }
  return 0;
}
C
cat >"$dir/made.cc" <<'CC'
int* volatile kept;
extern "C" int work(int count) {
  for (int i = 0; i < count; ++i) kept = new int(i);
  return count;
}
CC
cat >"$dir/pooled.cc" <<'CC'
#include "pool.cc"
int* volatile kept;
extern "C" int work(int count) {
  for (int i = 0; i < count; ++i) {
    kept = new int(i);
    delete kept;
  }
  return count;
}
CC
gcc "$dir/turns.c" -o "$dir/turns" -ldl || fail "no host"
for plugin in made pooled; do
  g++ -O1 -shared -fPIC -I"$pool" "$dir/$plugin.cc" -o "$dir/$plugin.so" || fail "no plugin"
done
recording exact
same "$dir/turns" "$dir/made.so" "$dir/pooled.so" "$dir/made.so" "$dir/pooled.so"
verified "$profile"

pooled=$dir/pooled.so
begin "a plugin's operators are its own, wherever they are called from"
# A tail call returns to the program; what is destroyed at the end returns to libc.
cat >"$dir/plugin.cc" <<'CC'
#include <set>
#ifdef OWN
#include "pool.cc"
#endif
struct Block {
  int numbers[10];
};
static std::set<int> numbers;
extern "C" Block* create() { return new Block; }
extern "C" void destroy(Block* block) { delete block; }
extern "C" int work(int count) {
  for (int i = 0; i < count; ++i) numbers.insert(i);
  return static_cast<int>(numbers.size());
}
CC
cat >"$dir/calls.c" <<'C'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char** argv) {
  void* plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!plugin) return puts(dlerror());
  void* (*create)(void) = (void* (*)(void))dlsym(plugin, "create");
  void (*destroy)(void*) = (void (*)(void*))dlsym(plugin, "destroy");
  for (int i = 0; i < 100; ++i) destroy(create());
  printf("%d\n", ((int (*)(int))dlsym(plugin, "work"))(5000));
  fflush(stdout);
  if (argc > 2) dlclose(plugin);
  return 0;
}
C
gcc "$dir/calls.c" -o "$dir/calls" -ldl || fail "no host"
for options in "" -static-libstdc++ -DOWN "-DOWN -static-libstdc++"; do
  # shellcheck disable=SC2086
  g++ -O2 -shared -fPIC -I"$pool" $options "$dir/plugin.cc" -o "$dir/plugin.so" || fail "no plugin"
  for close in "" close; do
    recording exact
    # shellcheck disable=SC2086
    same "$dir/calls" "$dir/plugin.so" $close
    verified "$profile"
    check "its blocks, $options" "$(($(total allocations) >= 5100))" = 1
  done
done

other=$dir/plugin.cc
begin "operators that the program loads for all to see, and unloads"
cat >"$dir/turns.c" <<'C'
#include <dlfcn.h>
#include <stdio.h>
static void* opened(const char* file, int flags) {
  void* plugin = dlopen(file, RTLD_NOW | flags);
  if (!plugin) puts(dlerror());
  return plugin;
}
static void call(void* plugin, const char* name) { ((void (*)(void))dlsym(plugin, name))(); }
int main(int argc, char** argv) {
  void* first = opened(argv[1], RTLD_GLOBAL);
  call(first, "make"), call(first, "drop");
  dlclose(first);
  void* pooled = opened(argv[1], RTLD_LOCAL);
  call(pooled, "make");
  void* other = opened(argv[2], RTLD_GLOBAL);
  call(pooled, "drop");
  return printf("%d\n", ((int (*)(int))dlsym(other, "work"))(100)) < 0;
}
C
cat >"$dir/pooled.cc" <<'CC'
#include "pool.cc"
int* volatile kept;
extern "C" void make() { kept = new int(3); }
extern "C" void drop() { delete kept; }
CC
gcc "$dir/turns.c" -o "$dir/turns" -ldl || fail "no host"
g++ -O1 -shared -fPIC -nodefaultlibs -I"$pool" "$dir/pooled.cc" -o "$dir/pooled.so" -lc || fail "no plugin"
g++ -O2 -shared -fPIC "$other" -o "$dir/other.so" || fail "no plugin"
recording exact
same "$dir/turns" "$dir/pooled.so" "$dir/other.so"
verified "$profile"

begin "a child of a fork calls a plugin's operator new while another thread does"
cat >"$dir/forks.c" <<'C'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static int (*work)(int);
static volatile int stop;
static void* calls(void* argument) {
  while (!stop) work(1);
  return argument;
}
int main(int argc, char** argv) {
  void* plugin = dlopen(argv[argc - 1], RTLD_NOW | RTLD_LOCAL);
  if (!plugin) return puts(dlerror());
  work = (int (*)(int))dlsym(plugin, "work");
  pthread_t thread;
  pthread_create(&thread, 0, calls, 0);
  int good = 0;
  for (int i = 0; i < 60; ++i) {
    pid_t child = fork();
    if (child == 0) {
      alarm(20);
      work(1);
      _exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    good += status == 0;
    if (status != 0) break;
  }
  stop = 1;
  pthread_join(thread, 0);
  printf("%d children\n", good);
  return 0;
}
C
gcc "$dir/forks.c" -o "$dir/forks" -ldl -pthread || fail "no host"
recording exact
same "$dir/forks" "$pooled"

begin "without the wrappers the report says what to do"
settings=(FBLEPROF_ALLOCS=exact)
same "$PROGRAMS/allocates.plain" leaks
check "a remark" "$("$REPORT" --summary "$profile" | tr -s ' \n' '  ' |
  grep -c 'libfbleprof_alloc.so')" = 1

begin "the launcher loads the wrappers if they are asked for, and only then"
profile=$dir/mlmon.out
"$FBLE_PROF" -o "$profile" cat /proc/self/maps >"$dir/maps"
check "not without" "$(grep -c fbleprof_alloc "$dir/maps")" = 0
"$FBLE_PROF" --memory-profile=exact -o "$profile" cat /proc/self/maps >"$dir/maps"
check "with" "$(grep -c fbleprof_alloc "$dir/maps")" -gt 0
"$FBLE_PROF" --memory-profile=much cat 2>"$dir/err"
check "a bad mode is an error" $? = 2
check "in one line" "$(wc -l <"$dir/err")" = 1
"$REPORT" --allocations "$profile" >"$dir/view" || fail "no view"
check "sizes are shown" "$(grep -c 'to 64 ' "$dir/view")" = 1

for allocator in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2.0; do
  library=$(echo /usr/lib/*/"$allocator")
  begin "blocks of $allocator count, too"
  [ -e "$library" ] || { skip "it is not installed"; continue; }
  settings=("LD_PRELOAD=$LIB:$wrappers:$library" FBLEPROF_ALLOCS=exact)
  plain "$PROGRAMS/allocates.fentry" containers leaks forms
  profiled "$PROGRAMS/allocates.fentry" containers leaks forms
  same_as_plain
  check "lost" "$(self allocations 'leak()') $(self allocated 'leak()')" = "1000 100000"
  check "new" "$(self allocations 'lists(int)')" -gt 21000
done

begin "the first new holds up nobody"
for mode in exact 1K; do
  recording $mode
  plain timeout 20 "$PROGRAMS/first_new.plain" "$PROGRAMS/first_new_plugin.plain"
  profiled timeout 20 "$PROGRAMS/first_new.plain" "$PROGRAMS/first_new_plugin.plain"
  same_as_plain
done

begin "a block that another thread allocated is not temporary"
recording exact
same "$PROGRAMS/relay.plain"
check "blocks" "$(self allocations body)" = 1000
check "temporary ones" "$(self temporary body)" = 0

for mode in fentry plain; do
  for way in exact 64; do
    begin "what allocates in a profile of the C API, $mode, $way"
    recording $way
    same "$PROGRAMS/allocates_in_profile.$mode"
    check "nothing at the root" "$(self allocated '[root]')" = 0
    margin=20000
    [ $way = exact ] && margin=0
    near "its bytes" "$(self allocated parse)" 200000 $margin
  done
done

begin "more contexts than have room"
recording exact
settings+=(FBLEPROF_MEMORY=2M)
profiled "$PROGRAMS/many_contexts.fentry"
verified "$profile"
"$REPORT" --self --metric live --format csv "$profile" | python3 -c '
import csv, sys
sys.exit(any(int(row["self"]) > 1 << 30 for row in csv.DictReader(sys.stdin)))' ||
  fail "a function has more in use than there is"

for mode in fentry plain; do
  begin "a pointer far inside of a large block holds it, $mode"
  recording exact
  same "$PROGRAMS/held_blocks.$mode" inside
  check "it is kept" "$(total leaked-blocks)" -ge 1
  check "not lost" "$(total lost-blocks)" = 0

  for way in child later; do
    begin "what blocks hold that are not recorded is not lost: $way, $mode"
    recording exact
    same "$PROGRAMS/held_blocks.$mode" $way
    [ $way = later ] || profile=$(profiles_in "$dir" | grep -v 'mlmon\.out$')
    verified "$profile"
    check "what it keeps" "$(self leaked-blocks keep)" = 2000
    check "nothing is lost" "$(total lost-blocks)" = 0
    "$REPORT" --raw "$profile" | has_text "none is shown as lost" || fail "nothing is said"
  done

  begin "blocks outlive the profile of the C API to which they belong, $mode"
  recording exact
  same "$PROGRAMS/held_blocks.$mode" profile
  verified "$profile"
  check "what is live" "$(self live-blocks keep)" = 1

  begin "more sampled blocks than there is room for, $mode"
  recording 16
  same "$PROGRAMS/held_blocks.$mode" many
  verified "$profile"
  check "those without room are counted" "$(total unrecorded-allocations)" -gt 10000
  check "all are freed" "$(total live-blocks)" -le 100
done

# libc calls the destructors of other libraries after ours.
begin "a library's destructor frees and allocates"
recording exact
settings[0]+=:$PROGRAMS/late_end.plain
same "$PROGRAMS/allocates.plain" leaks
verified "$profile"
check "what it frees has not leaked" "$(self allocated begin) $(self leaked begin)" = "5000 0"
check "what it keeps has" "$(self leaked keep_late)" = 3000
