#!/bin/bash
# A program ends the same way under the profiler, and its profile is complete.
. "$(dirname "$0")/lib.sh"

for mode in fentry gmon mcount cyg cygclang; do
  for how in return exit _exit quick_exit abort kill term segv thread pthread_exit exec; do
    begin "$how $mode"
    case "$how $mode" in
      # Linked with -pg: gprof's timer outlives exec, and its SIGPROF kills some of the plain runs
      # (34 of 150). The recorder keeps that timer from starting.
      "exec gmon" | "exec mcount")
        profiled "$PROGRAMS/endings.$mode" $how
        check "status" "$(cat "$dir/profiled.status")" = "exit 7"
        ;;
      *) same "$PROGRAMS/endings.$mode" $how ;;
    esac
    expected
  done
done

begin "a library's own function called daemon"
cat >"$dir/own.c" <<'C'
#include <stdio.h>
const char* daemon(const char* a, const char* b, const char* c) {
  printf("%s %s %s\n", a, b, c);
  return c;
}
const char* start(const char* a, const char* b, const char* c) { return daemon(a, b, c); }
C
cat >"$dir/main.c" <<'C'
#include <stdio.h>
const char* start(const char* a, const char* b, const char* c);
int main(void) {
  char words[3][8] = {"one", "two", "three"};
  return puts(start(words[0], words[1], words[2])) < 0;
}
C
gcc -fno-builtin -shared -fPIC "$dir/own.c" -o "$dir/libown.so" || fail "no library"
gcc "$dir/main.c" -o "$dir/main" -L"$dir" -lown -Wl,-rpath,"$dir" || fail "no program"
same "$dir/main"
check "all arguments" "$(cat "$dir/profiled.out")" = $'one two three\nthree'

begin "daemon ends the parent, and the child goes on"
plain "$PROGRAMS/endings.fentry" daemon "$dir/plain.told"
profiled "$PROGRAMS/endings.fentry" daemon "$dir/profiled.told"
for ((i = 0; i < 100; ++i)); do [ -s "$dir/plain.told" ] && [ -s "$dir/profiled.told" ] && break; sleep 0.05; done
same_as_plain
cmp -s "$dir/plain.told" "$dir/profiled.told" || fail "the child differs: $(cat "$dir"/*.told)"
check "the parent's end" "$(fact state)" = ended
check "its file is cut" "$(stat -c %s "$profile")" -le 65536
expected
mapfile -t child < <(compgen -G "$profile.*")
check "the child has a profile" ${#child[@]} = 1
for ((i = 0; i < 100; ++i)); do [ "$(fact state "${child[0]}")" = ended ] && break; sleep 0.05; done
check "its end" "$(fact state "${child[0]}")" = ended
verified "${child[0]}"

for how in return term segv; do
  begin "a short profile is a small file: $how"
  profiled "$PROGRAMS/endings.fentry" $how
  check "its size" "$(stat -c %s "$profile")" -le 65536
  verified "$profile"
done

# The remaining time is charged at the end: the tree's sum equals the clock, except after a kill.
for how in return _exit quick_exit abort segv exec; do
  begin "charged to the end: $how"
  profiled "$PROGRAMS/endings.fentry" $how
  verified "$profile"
done

for mode in fentry plain; do
  begin "descriptors $mode"
  same "$PROGRAMS/endings.$mode" descriptors
  begin "closed descriptors $mode"
  same "$PROGRAMS/endings.$mode" closed
  verified "$profile"
done

begin "started without 0, 1 and 2"
for where in plain profiled; do
  environment=()
  [ $where = plain ] || environment=(LD_PRELOAD="$LIB" FBLEPROF_OUT="$profile")
  (cd "$dir/$where" && exec "$PROGRAMS/outcome.plain" "$dir/$where.status" "${environment[@]}" \
    "$PROGRAMS/endings.fentry" closed <&- >&- 2>&-)
done
check "the same end" "$(cat "$dir/plain.status")" = "$(cat "$dir/profiled.status")"
verified "$profile"

begin "the profile is the owner's alone"
(umask 000 && profiled "$PROGRAMS/endings.fentry" return)
check "mode" "$(stat -c %a "$profile")" = 600

begin "killed at any moment of its start"
LIB=$LIB REPORT=$REPORT python3 - "$profile" <<'END' || fail "a profile is broken"
import os, random, subprocess, sys, time

random.seed(1)
profile, environment = sys.argv[1], dict(os.environ, LD_PRELOAD=os.environ["LIB"])
environment["FBLEPROF_OUT"] = profile
broken = seen = 0
for _ in range(300):
    process = subprocess.Popen(["/bin/sleep", "5"], env=environment)
    end = time.perf_counter() + random.random() * 0.005
    while time.perf_counter() < end:
        pass
    process.kill()
    process.wait()
    if not os.path.exists(profile):
        continue
    seen += 1
    verdict = subprocess.run([os.environ["REPORT"], "--verify", profile], capture_output=True)
    if verdict.returncode != 0:
        broken += 1
        print((verdict.stdout + verdict.stderr).decode())
    os.unlink(profile)
sys.exit(broken != 0 or seen < 10)
END

# libc calls the destructors of other libraries after ours.
for mode in plain fentry; do
  begin "a library's destructor computes, $mode"
  settings=("LD_PRELOAD=$LIB:$PROGRAMS/late_end.plain")
  same "$PROGRAMS/endings.$mode" return
  verified "$profile"
  check "its time" "$(dominated_ms compute_late)" -ge 200

  begin "a library's destructor forks, $mode"
  settings=("LD_PRELOAD=$LIB:$PROGRAMS/late_end.plain" LATE=fork)
  profiled "$PROGRAMS/endings.$mode" return
  check "both have profiles" "$(profiles_in "$dir" | wc -l)" = 2
  while read -r file; do
    verified "$file"
    check "each has ended" "$(fact state "$file")" = ended
    check "its time" "$(dominated_ms compute_late "$file")" -ge 200
  done < <(profiles_in "$dir")

  begin "a library's destructor calls quick_exit, $mode"
  settings=("LD_PRELOAD=$LIB:$PROGRAMS/late_end.plain" LATE=quick)
  profiled "$PROGRAMS/endings.$mode" return
  check "status" "$(cat "$dir/profiled.status")" = "exit 3"
  check "its state" "$(fact state)" = ended
done

# With what it finds in its destructor, by a system call of its own.
begin "a sanitizer ends the process"
cat >"$dir/leak.c" <<'C'
#include <stdlib.h>
static char* volatile block;
static volatile unsigned long sum;
int main(void) {
  for (int i = 0; i < 1000; ++i) block = malloc(100);
  for (unsigned long i = 0; i < 30000000; ++i) sum += i;
  return 0;
}
C
if gcc -fsanitize=address "$dir/leak.c" -o "$dir/leak" 2>/dev/null; then
  "$FBLE_PROF" -o "$profile" "$dir/leak" 2>"$dir/err"
  has_text "1000 allocation\|999 allocation" "$dir/err" || fail "it has found nothing"
  check "its state" "$(fact state)" = ended
  verified "$profile"
else
  skip "no libasan"
fi
