#!/bin/bash
# fble-prof --exact: counts programs without hooks exactly, and does not change their behaviour.
. "$(dirname "$0")/lib.sh"
: "${FBLE_PROF:?path of fble-prof}" "${CACHE:?directory for what is fetched and built once}"
oracle=$here/../oracle
plans=$XDG_CACHE_HOME/fbleprof
mkdir -p "$plans"

# exactly [CHOICE]: the profiled runs of this case are exact.
exactly() {
  settings+=(FBLEPROF_EXACT="${1:-on}" FBLEPROF_EXACT_PLANS="$plans" FBLEPROF_EXACT_TOOL="$FBLE_PROF")
}

# entered FUNCTION: the number of its calls, by any caller.
entered() {
  "$REPORT" --self --format csv "$profile" | python3 -c '
import csv, sys
print(sum(int(r["calls"] or 0) for r in csv.DictReader(sys.stdin) if r["name"] == sys.argv[1]))' "$1"
}

begin "starts that need care"
exactly
same "$PROGRAMS/exact_entries.plain"
verified "$profile"
for function in table start_zone call_flags one_byte crowded displaced by_pointer; do
  check "calls of $function" "$(entered $function)" = 1000
done
for function in keeps_r11 leaves_r11 close_by; do # through a pointer too
  check "calls of $function" "$(entered $function)" = 1500
done
check "a call in the first bytes" "$(calls displaced recursive)" = 1000
check "recursion" "$(entered recursive)" = 14497
check "what relies on its caller is left alone" "$(entered flags)" = 0
check "the report says why" "$("$REPORT" --coverage "$profile" |
  grep -c 'relies on flags or memory .* flags$')" = 1
check "so is what flags outlive" "$(entered keeps_flags)" = 0
check "the report says why" "$("$REPORT" --coverage "$profile" | grep -c 'callers rely on flags .* keeps_flags$')" = 1

begin "the same call by libc, for another caller"
exactly
export DESCEND_COUNTS=1  # as these functions are counted, too
same "$PROGRAMS/callbacks.plain"
expected
same "$PROGRAMS/sized.plain"
expected
unset DESCEND_COUNTS

begin "functions that the unwind table does not list"
exactly
cat >"$dir/unlisted.c" <<'END'
long part(long), whole(long);
// The table begins behind the first instruction.
__attribute__((ms_hook_prologue, noinline)) long hooked(long n) { return part(n) + part(n + 1); }
__asm__(".text\n.globl part\npart:\n imul $3, %rdi, %rax\n ret\n");
__attribute__((noinline)) long whole(long n) { return hooked(n) ^ 1; }
int main(void) {
  long sum = 0;
  for (long i = 0; i < 1000; ++i) sum += whole(i);
  return sum != 3003000;
}
END
gcc -O1 "$dir/unlisted.c" -o "$dir/unlisted" || fail "unlisted was not built"
strip "$dir/unlisted" -o "$dir/unlisted_stripped"
for program in unlisted unlisted_stripped; do
  same "$dir/$program"
  verified "$profile"
  "$REPORT" --coverage "$profile" >"$dir/coverage"
  check "$program: they are named" "$(grep -c 'the unwind table does not list it' "$dir/coverage")" = 2
  has_text "^$program: counted exactly, except 2 functions" "$dir/coverage" || fail "$program: they are not counted as lost"
done

begin "want of memory leaves no plan"
cp "$PROGRAMS/exact_entries.plain" "$dir/large"
truncate -s 8G "$dir/large"
(ulimit -v 1000000 && "$FBLE_PROF" --plan "$dir/large.plan" "$dir/large") 2>"$dir/said"
check "it says so" $? = 1
check "nothing stays" "$(find "$dir" -name 'large.plan*' | wc -l)" = 0
(ulimit -v 9000000 && "$FBLE_PROF" --plan "$dir/large.plan" "$dir/large") || fail "no plan with more memory"
check "it is made with more memory" -s "$dir/large.plan"

begin "room for hooks behind a mark"
exactly
cat >"$dir/room.c" <<'END'
#include <stdio.h>
__attribute__((noipa)) int f(int x) { return x + 1; }
__attribute__((noipa)) int g(int x) { return f(x) + 1; }
__attribute__((noipa)) int pointed(int x) { return x + 1; }
int main(void) {
  int (*volatile pointer)(int) = pointed;
  int sum = 0;
  for (int i = 0; i < 1000; ++i) sum += g(i) + pointer(i);
  printf("%d\n", sum);
}
END
for options in '-fpatchable-function-entry=5' '-fpatchable-function-entry=5 -fno-pie -no-pie' \
  '-pg -mfentry -mnop-mcount -mrecord-mcount -fno-pie -no-pie'; do
  # shellcheck disable=SC2086  # words
  gcc -O1 -fcf-protection $options "$dir/room.c" -o "$dir/room" || fail "room was not built"
  same "$dir/room"
  verified "$profile"
  check "$options: main" "$(entered main)" = 1
  check "$options: g" "$(calls main g)" = 1000
  check "$options: f" "$(calls g f)" = 1000
  check "$options: through a pointer" "$(calls main pointed)" = 1000
done

begin "thunks against speculation"
exactly
cat >"$dir/thunks.c" <<'END'
__attribute__((noipa)) static long step(long n) { return n * 3 + 1; }
__attribute__((noipa)) static long follow(const unsigned char* way, long (*next)(long)) {
  static const void* const places[] = {&&again, &&back, &&end};
  long n = 0;
  goto *places[*way++];
again:
  n += next(n);
  goto *places[*way++];
back:
  n = step(n) % 1000;
  goto *places[*way++];
end:
  return n;
}
int main(void) {
  static const unsigned char way[] = {0, 1, 0, 0, 1, 2};
  long sum = 0;
  for (long i = 0; i < 1000; ++i) sum += follow(way, step);
  return sum % 64;
}
END
for options in '-mindirect-branch=thunk' '-mindirect-branch=thunk -mfunction-return=thunk' '-mfunction-return=thunk -Os'; do
  # shellcheck disable=SC2086  # words
  gcc -O1 $options "$dir/thunks.c" -o "$dir/thunks" || fail "thunks was not built"
  same "$dir/thunks"
  verified "$profile"
  check "$options: follow" "$(calls main follow)" = 1000
  check "$options: step" "$(calls follow step)" = 5000
  check "$options: thunks are no functions" \
    "$("$REPORT" --self --format csv "$profile" | grep -c '__x86')" = 0
done

begin "calls through slots that the linker made direct"
exactly
cat >"$dir/called.s" <<'END'
        .globl  called
        .type   called, @function
called: .cfi_startproc
1:      add     $4, %rdi
        cmpl    $5, (%rdi)
        jne     1b
        mov     $2, %eax
        ret
        .cfi_endproc
        .size   called, .-called
        .section .note.GNU-stack, "", @progbits
END
cat >"$dir/calls.c" <<'END'
int called(int*);
int main(void) {
  int places[] = {0, 0, 5}, sum = 0;
  for (int i = 0; i < 100; ++i) sum += called(places);
  return sum != 200;
}
END
gcc -O1 -fno-plt "$dir/calls.c" "$dir/called.s" -o "$dir/calls" || fail "calls was not built"
objdump -d "$dir/calls" | has_text 'addr32 call' || fail "the linker writes such calls otherwise"
same "$dir/calls"
verified "$profile"
check "calls" "$(calls main called)" = 100

begin "stripped programs whose stubs are marked for indirect branches"
exactly
cat >"$dir/stubs.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline, noclone)) static int inner(int n, int* sum) {
  if (*sum == 99) return 5;
  *sum += n;
  if (n == 12345) n++;
  return rand();
}
__attribute__((noinline)) int outer(int n, int* sum) {
  *sum ^= n * 3 + 7;
  *sum *= 77;
  return inner(n + 1, sum);
}
int main(void) {
  int q = 1, sum = getpid(); // other stubs stand before that of rand
  puts("begin");
  for (int i = 0; i < 100; ++i) sum += outer(i, &q);
  return sum == 1;
}
END
gcc -O2 -s -fcf-protection=full -Wl,-z,ibtplt "$dir/stubs.c" -o "$dir/stubs" || fail "stubs was not built"
same "$dir/stubs"
verified "$profile"
check "calls of main, of a function and of that to which it jumps" "$(fact calls)" = 201

begin "split stacks have no room for hooks"
exactly
settings+=(FBLEPROF_RATE=20000 LD_PRELOAD="$LIB:$PROGRAMS/witness.plain")
same "$PROGRAMS/split_stacks.plain"
verified "$profile"
check "calls" "$(entered down)" = 0
"$REPORT" --coverage "$profile" | has_text "split stacks" || fail "the report does not say why"
settings+=(FBLEPROF_VERBOSE=1)
profiled "$PROGRAMS/split_stacks.plain"
has_text "not counted exactly.*split stacks" "$dir/profiled.err" || fail "nothing says why"

# What is compiled with a profile of a run has parts elsewhere that tables of jumps lead to.
begin "parts of a function that keeps values below its stack pointer, without symbols"
exactly
(
  cd "$dir" || exit
  gcc -O2 -fprofile-generate -c "$here/../programs/with_part.c" -o with_part.o && gcc -fprofile-generate with_part.o -o with_part &&
    ./with_part train >/dev/null && gcc -O2 -fprofile-use -c "$here/../programs/with_part.c" -o with_part.o &&
    gcc with_part.o -o with_part && nm with_part | has_text 'run\.cold' && strip with_part
) || fail "with_part was not built"
same "$dir/with_part"
verified "$profile"

begin "pointers in packed structures, whose relocations are packed too"
exactly
for level in -O1 -Os; do
  gcc $level -Wl,-z,pack-relative-relocs "$here/../programs/with_part.c" -o "$dir/packed$level" || fail "packed was not built"
  same "$dir/packed$level"
  verified "$profile"
done
check "calls of less" "$(entered less)" = 1
check "what is called through a pointer has a lower bound" "$("$REPORT" --coverage "$profile" |
  grep -c 'calls through pointers are not counted.* less$')" = 1

begin "functions whose names are like those of parts"
exactly
cat >"$dir/names.c" <<'END'
int cold(int) __asm__("db.coldLoad"), part(int) __asm__("db.__part.load");
__attribute__((noipa)) int cold(int n) { return 3 * n + 1; }
__attribute__((noipa)) int part(int n) { return 5 * n + 1; }
int (*volatile first)(int) = cold, (*volatile second)(int) = part;
int main(void) {
  int sum = 0;
  for (int i = 0; i < 1000; ++i) sum += first(i) + second(i);
  return sum == 1;
}
END
gcc -O1 "$dir/names.c" -o "$dir/names" || fail "names was not built"
same "$dir/names"
for function in db.coldLoad db.__part.load; do
  check "calls of $function" "$(entered $function)" = 1000
done

begin "a forked child knows what is not counted"
exactly
same "$PROGRAMS/exact_entries.plain" fork
child=$(find "$dir" -name "$(basename "$profile").*")
verified "$profile" "$child"
profile=$child
check "calls in the child" "$(entered displaced)" = 1000
check "what is left alone is named" "$("$REPORT" --coverage "$profile" |
  grep -c 'relies on flags or memory .* flags$')" = 1

for mode in fentry mcount cyg; do
  begin "hooked programs are not counted twice, $mode"
  exactly
  same "$PROGRAMS/notes.$mode" mutual
  expected
done

begin "exceptions and threads"
exactly all
same "$PROGRAMS/exact_throws.plain"
verified "$profile"
check "calls in threads" "$(entered '(anonymous namespace)::Plain::value(int)')" = 60000

begin "faults in the first instructions"
exactly
same "$PROGRAMS/exact_faults.plain"
verified "$profile"
check "each call is counted once" "$(entered load)" = 300
check "behind a branch" "$(entered load_behind_branch)" = 600
check "before a breakpoint" "$(entered breakpoint)" = 300

# These programs' expectations of their hooked builds hold for the plain builds.
for program in notes jumps throws crowd deepest; do
  begin "expected of $program"
  exactly program
  same "$PROGRAMS/$program.plain"
  expected
done

begin "tail calls"
exactly program
same "$PROGRAMS/tails.plain"
expected
"$REPORT" --edges "$profile" | has_text 'wrapper ⇒ last' || fail "--edges does not show a tail call"
"$REPORT" --all "$profile" | has_text '⇒ last' || fail "the tree does not show a tail call"
"$REPORT" --edges "$profile" | has_text 'main → last .*through a tail call' ||
  fail "a tail call that is not known is not marked"
(trap '' PROF && valgrind --tool=callgrind --dump-instr=yes --compress-strings=no --compress-pos=no \
  --callgrind-out-file="$dir/callgrind.out" "$PROGRAMS/tails.plain" >/dev/null 2>&1)
output=$(python3 "$oracle/exact_calls.py" "$PROGRAMS/tails.plain" "$plans" "$profile" "$dir/callgrind.out") ||
  fail "$output"
for rule in suffix none; do
  begin "tail calls, $rule"
  exactly program
  settings+=(FBLEPROF_COMPACT="$rule")
  same "$PROGRAMS/tails.plain"
  expected
done
begin "tail calls and call sites"
exactly program
settings+=(FBLEPROF_CALLSITES=1)
same "$PROGRAMS/tails.plain"
expected
begin "tail calls of a function that is left out"
exactly program
settings+=(FBLEPROF_FILTER='!wrapper' FBLEPROF_FILTER_TABLES="$plans" FBLEPROF_FILTER_TOOL="$REPORT")
same "$PROGRAMS/tails.plain"
verified "$profile"
check "it is not counted" "$(entered wrapper)" = 0
check "what it calls is" "$(entered last)" = 10500
check "the others are" "$(calls step last)" = 4500
begin "a loop of tail calls"
exactly program
same "$PROGRAMS/notes.plain" bounce
expected

begin "functions that call nothing"
exactly program
same "$PROGRAMS/leaves.plain"
expected
near_share "the share of a function that calls nothing" "$(share burn)" 99 2
check "it is below its caller" "$("$REPORT" --hot "$profile" | grep -c '^main → spends → burn$')" = 1

begin "libraries that come and go"
exactly
same "$PROGRAMS/plugin_host.plain" "$PROGRAMS/first.plain" "$PROGRAMS/second.plain"
verified "$profile"
check "calls of libraries" "$(calls main run_plugin)" = 7500
check "calls within the first" "$(calls run_plugin first_leaf)" = 5000
check "calls within the second" "$(calls run_plugin second_leaf)" = 2500
check "what is not counted is named once, however often it was loaded" "$("$REPORT" --coverage --format json \
  "$profile" | python3 -c '
import json, sys
places = [(row["module"], row["address"]) for row in json.load(sys.stdin)["not_counted"]]
print(len(places) - len(set(places)), len(places) > 0)')" = "0 True"
# Its `ret` is the last byte before the next section.
check "what has no room for a jump is named" "$("$REPORT" --coverage "$profile" |
  grep -c 'called only through pointers')" = 1

begin "a library that the loader itself unmaps, and that comes back to its place"
cat >"$dir/lacking.c" <<'END'
#include <stdlib.h>
extern int missing(void);
__attribute__((noinline)) int add_four(int n) { return atoi("4") + n; }
int run(int n) {
  if (n == 12345) return missing();
  int sum = 0;
  for (int i = 0; i < 1000; ++i) sum += add_four(i);
  return sum;
}
END
cat >"$dir/retries.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char** arguments) {
  void* first = dlopen(arguments[1], RTLD_NOW);
  void* library = dlopen(arguments[1], RTLD_LAZY);
  if (first || !library || count != 2) return 1;
  printf("%d\n", ((int (*)(int))dlsym(library, "run"))(1));
  return 0;
}
END
(
  cd "$dir" || exit
  gcc -O2 retries.c -o retries && gcc -O2 -fpic -shared -Wl,-z,lazy lacking.c -o lacking.so &&
    gcc -O2 -fpic -shared -Wl,-z,lazy -fpatchable-function-entry=5 lacking.c -o patchable.so
) || fail "a library that lacks a symbol was not built"
same "$dir/retries" "$dir/patchable.so"
check "calls of the library with room for hooks" "$(entered add_four)" = 1000
exactly
same "$dir/retries" "$dir/lacking.so"
verified "$profile"
check "calls of the library" "$(entered add_four)" = 1000

# The tool that makes plans shares the program's memory until it is another program.
begin "handlers do not run where a plan is made"
exactly
cat >"$dir/handles.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
static volatile int elsewhere, is_done;
static pid_t program;
static void handle(int number) {
  (void)number;
  if (getpid() != program) elsewhere = 1;
}
static void* signal_group(void* nothing) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, 0);
  for (; !is_done; usleep(50)) kill(0, SIGUSR1);
  return nothing;
}
int main(int count, char** arguments) {
  setpgid(0, 0);
  program = getpid();
  signal(SIGUSR1, handle);
  pthread_t thread;
  pthread_create(&thread, 0, signal_group, 0);
  for (int i = 0; i < 60 && count == 2; ++i) {
    // Another file, for which there is no plan yet.
    struct timespec times[2] = {{1000000 + i, 0}, {1000000 + i, 0}};
    utimensat(AT_FDCWD, arguments[1], times, 0);
    void* library = dlopen(arguments[1], RTLD_NOW);
    if (!library) return 1;
    dlclose(library);
  }
  is_done = 1;
  pthread_join(thread, 0);
  puts(elsewhere ? "a handler ran in another process" : "no handler ran in another process");
  return 0;
}
END
gcc -O2 "$dir/handles.c" -o "$dir/handles" -pthread || fail "handles was not built"
cp "$PROGRAMS/first.plain" "$dir/first.so"
same "$dir/handles" "$dir/first.so"

begin "a library in the place of one that was rewritten, in a forked child"
exactly chosen
cat >"$dir/library.c" <<'END'
#include <stdlib.h>
__attribute__((noinline)) int add_four(int n) { return atoi("4") + n; }
int run(int n) { return add_four(n) * 3; }
END
cat >"$dir/forks.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
// Long enough for a profile of its own.
static int child(int (*run)(int)) {
  for (int i = 0; i < 10000000; ++i) {
    if (run(2) != 18) return 1;
  }
  return 0;
}
int main(int count, char** arguments) {
  int (*run)(int) = 0;
  for (int i = 1; i < count; ++i) {
    void* library = dlopen(arguments[i], RTLD_NOW);
    void* symbol = library ? dlsym(library, "run") : 0;
    if (!symbol || (run && symbol != (void*)run)) return 1;
    run = (int (*)(int))symbol;
    printf("%d\n", run(i));
    if (i + 1 < count) dlclose(library);
  }
  fflush(stdout);
  if (fork() == 0) return child(run);
  int status;
  wait(&status);
  return status;
}
END
(
  cd "$dir" || exit
  gcc -O2 forks.c -o forks && gcc -O2 -fpic -shared library.c -o chosen.so && gcc -O2 -fpic -shared library.c -o other.so
) || fail "forks was not built"
same "$dir/forks" "$dir/chosen.so" "$dir/other.so"
child=$(find "$dir" -name "$(basename "$profile").*")
verified "$profile" "$child"
"$REPORT" --coverage "$profile" | has_text "^chosen.so: counted exactly" || fail "it is not counted"
"$REPORT" --coverage "$child" | lacks_text "other.so: counted" || fail "the child says what is not true"

begin "libraries in link namespaces of their own"
exactly
same "$PROGRAMS/loads_apart.plain" "$PROGRAMS/first.plain"
verified "$profile"
expected
"$REPORT" --coverage "$profile" >"$dir/coverage"
lacks_text "^first.plain: counted" "$dir/coverage" || fail "a library is changed that runs already"
[[ $(getconf GNU_LIBC_VERSION) < "glibc 2.35" ]] || # it does not tell of them
  check "the report names it once" "$(grep -c 'first.plain: it is in a link namespace' "$dir/coverage")" = 1

begin "a library is loaded while another thread's dlclose ends"
exactly
cat >"$dir/library.c" <<'END'
__attribute__((noinline)) int product(int x) {
  __asm__ volatile("");
  return x * FACTOR;
}
__attribute__((noinline)) int go(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += product(i);
  return sum;
}
// The loader calls it while it relocates the library.
static int four(void) { return 4; }
static int (*resolve(void))(void) {
  const long time[2] = {0, 600000000};
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(35), "D"(time), "S"(0) : "rcx", "r11", "memory");
  return four;
}
int chosen(void) __attribute__((ifunc("resolve")));
int use(void) { return chosen(); }
END
cat >"$dir/late.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
int dlclose(void* library) {
  const int result = ((int (*)(void*))dlsym(RTLD_NEXT, "dlclose"))(library);
  usleep(300000);
  return result;
}
END
cat >"$dir/loads.c" <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void* unload(void* library) {
  dlclose(library);
  return NULL;
}
static int (*load(const char* path))(int) {
  void* library = dlopen(path, RTLD_NOW);
  return library ? (int (*)(int))dlsym(library, "go") : NULL;
}
int main(int argc, char** argv) {
  pthread_t thread;
  if (argc < 4 || pthread_create(&thread, NULL, unload, dlopen(argv[3], RTLD_NOW)) != 0) return 1;
  usleep(100000);
  int (*const first)(int) = load(argv[1]);
  printf("%d\n", first(1000));
  pthread_join(thread, NULL);
  int (*const second)(int) = load(argv[2]);
  printf("%d\n", second(1000));
  printf("%d\n", first(2000));
  return 0;
}
END
(
  cd "$dir" || exit
  gcc -O2 -fpic -shared -DFACTOR=3 library.c -o three.so && gcc -O2 -fpic -shared -DFACTOR=5 library.c -o five.so &&
    gcc -O2 -fpic -shared late.c -o late.so && gcc -O2 loads.c -o loads -pthread
) || fail "the libraries were not built"
settings+=(LD_PRELOAD="$LIB:$dir/late.so")
same "$dir/loads" "$dir/three.so" "$dir/five.so" libresolv.so.2
verified "$profile"
check "calls in both" "$(entered go)" = 3

begin "a system that refuses new code"
exactly
same "$PROGRAMS/refusing.plain" 10/2/5=1 10/2/7=1 -- "$PROGRAMS/exact_entries.plain"
verified "$profile"
check "it is sampled" "$(entered one_byte)" = 0
settings+=(FBLEPROF_VERBOSE=1)
profiled "$PROGRAMS/refusing.plain" 10/2/5=1 10/2/7=1 -- "$PROGRAMS/exact_entries.plain"
check "one line says why" "$(grep -c 'only sampled: .*W^X' "$dir/profiled.err")" = 1

begin "names that no module has"
exactly program,nolib,libc
settings+=(FBLEPROF_VERBOSE=1)
profiled "$PROGRAMS/plugin_host.plain" "$PROGRAMS/first.plain" "$PROGRAMS/second.plain"
for unknown in nolib libc; do
  check "one line tells of $unknown" \
    "$(grep -c "no module .* is named $unknown; there are .*plugin_host" "$dir/profiled.err")" = 1
done
check "the report tells it" "$("$REPORT" --summary "$profile" | grep -c 'is named nolib')" = 1
begin "a name that no module has, alone"
exactly nolib
profiled "$PROGRAMS/plugin_host.plain" "$PROGRAMS/first.plain" "$PROGRAMS/second.plain"
check "any report says why nothing is counted" "$("$REPORT" "$profile" 2>&1 >/dev/null | grep -c 'is named nolib')" = 1
check "so does --coverage" "$("$REPORT" --coverage "$profile" 2>/dev/null | grep -c 'is named nolib')" = 1
begin "a library that was loaded later is known"
exactly second
settings+=(FBLEPROF_VERBOSE=1)
profiled "$PROGRAMS/plugin_host.plain" "$PROGRAMS/first.plain" "$PROGRAMS/second.plain"
check "nothing is reported" "$(grep -c 'is named' "$dir/profiled.err")" = 0
begin "names that only the program must have"
exactly nolib
settings+=(FBLEPROF_VERBOSE=1 FBLEPROF_PROGRAM=1)
profiled "$PROGRAMS/plugin_host.plain" "$PROGRAMS/first.plain" "$PROGRAMS/second.plain"
check "a child reports nothing" "$(grep -c 'is named' "$dir/profiled.err")" = 0

begin "forks and other programs"
exactly all
same "$PROGRAMS/processes.plain"
for program in "perl -e 'print sort { \$a <=> \$b } map { \$_ * 7 % 1000 } 1..5000'" \
  "git --version" "bash -c 'for i in {1..500}; do x=\$((x + i)); done; echo \$x; (echo a | tr a b)'" \
  "python3 -c 'import json; print(json.dumps({str(i): [i] for i in range(99)}))'"; do
  begin "$program"
  exactly
  same sh -c "$program"
done

begin "a patched copy has the build-id of the original"
exactly
mkdir -p "$dir/changed"
changed=$dir/changed/exact_entries.plain
python3 - "$PROGRAMS/exact_entries.plain" "$changed" <<'END'
import os, sys
code = open(sys.argv[1], "rb").read()
number = b"\x41\xbb" + (12345).to_bytes(4, "little")  # the first instruction of keeps_r11
assert code.count(number) == 1
open(sys.argv[2], "wb").write(code.replace(number, b"\x41\xbb" + (54321).to_bytes(4, "little")))
os.chmod(sys.argv[2], 0o755)
END
same "$changed"
verified "$profile"
check "calls" "$(entered displaced)" = 1000

begin "code that is not that of its plan"
exactly
rm -f "$plans"/*
touch -r "$PROGRAMS/exact_entries.plain" "$changed"
same "$PROGRAMS/exact_entries.plain"
same "$changed"
verified "$profile"
check "nothing is counted there" "$(entered displaced)" = 0
check "the report says why" "$("$REPORT" --summary "$profile" | grep -c 'its code is not what its plan was made for')" = 1

begin "many libraries"
exactly
libraries=$(many_libraries 300)
settings+=(LD_PRELOAD="$LIB:$libraries")
same "$PROGRAMS/notes.plain"
verified "$profile"
"$REPORT" --coverage "$profile" >"$dir/coverage"
check "libraries that are counted" "$(grep -c '^[0-9]*\.so: counted exactly' "$dir/coverage")" = 300
has_text "^notes.plain: counted exactly" "$dir/coverage" || fail "the program is not counted"
settings=(FBLEPROF_FILTER='!many' FBLEPROF_FILTER_TOOL="$REPORT" FBLEPROF_FILTER_TABLES="$plans"
  LD_PRELOAD="$LIB:$libraries" FBLEPROF_VERBOSE=1)
profiled "$PROGRAMS/notes.plain"
lacks_text "not filtered" "$dir/profiled.err" || fail "a library is not filtered"

begin "damaged plans"
exactly
for plan in "$plans"/*.plan; do head -c 100 "$plan" >"$plan.short" && mv "$plan.short" "$plan"; done
same "$PROGRAMS/notes.plain"
expected

begin "plans that others may have written"
exactly
rm -f "$plans"/*
same "$PROGRAMS/notes.plain"
number=0
for plan in "$plans"/*.plan; do
  number=$((number + 1))
  if [ $((number % 2)) = 0 ]; then
    mv "$plan" "$dir" && ln -s "$dir/${plan##*/}" "$plan"
  else
    chmod 666 "$plan"
  fi
done
check "there are plans" $number -gt 0
same "$PROGRAMS/notes.plain"
expected
check "they are made anew" "$(find "$plans" -name '*.plan' \( -type l -o -perm /022 \) | wc -l)" = 0

begin "counts against callgrind: Lua"
mkdir -p "$CACHE/lua-exact"
lua=$CACHE/lua-exact/lua
"$oracle/build_lua" "$CACHE" "$lua" -fno-reorder-blocks-and-partition ||
  { fail "cannot build Lua"; exit 1; }
exactly
same "$lua" "$oracle/workload.lua" 5
verified "$profile"
(trap '' PROF && valgrind --tool=callgrind --dump-instr=yes --compress-strings=no --compress-pos=no \
  --callgrind-out-file="$dir/callgrind.out" "$lua" "$oracle/workload.lua" 5 >/dev/null 2>&1)
output=$(python3 "$oracle/exact_calls.py" "$lua" "$plans" "$profile" "$dir/callgrind.out") ||
  fail "$output"
echo "${output##*$'\n'}"

begin "without fble-prof"
settings=(FBLEPROF_EXACT=on)
same "$PROGRAMS/steps.plain" "$dir/counts" calls
has_text "needs fble-prof, which makes plans" <("$REPORT" "$profile" 2>&1)


# The library is stripped: a copy with symbols, at the same addresses, tells callgrind its functions.
begin "counts against callgrind: libsqlite3"
exactly
query="create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n where i < 300)
  insert into t select i, 'row ' || i * 7919 % 1009 from n; create index tb on t(b);
  select count(*), max(b) from t where b like '%9%'; delete from t where a % 7 = 0; select sum(a) from t;"
same sqlite3 :memory: "$query"
verified "$profile"
check "many calls" "$(fact calls)" -gt 50000
library=$(ldconfig -p | sed -n 's/.*libsqlite3.so.0 .*=> //p' | head -1)
mkdir "$dir/lib"
python3 "$oracle/add_symbols.py" "$library" "$plans" "$dir/lib/libsqlite3.so.0" || fail "no symbols"
(trap '' PROF && LD_LIBRARY_PATH=$dir/lib valgrind --tool=callgrind --dump-instr=yes --compress-strings=no \
  --compress-pos=no --callgrind-out-file="$dir/callgrind.out" sqlite3 :memory: "$query" >/dev/null 2>&1)
output=$(python3 "$oracle/exact_calls.py" "$library" "$plans" "$profile" "$dir/callgrind.out") ||
  fail "$output"
echo "${output##*$'\n'}"
