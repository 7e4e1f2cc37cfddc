#!/bin/bash
# Programs in another root (chroot, a container) that lacks the recorder's library: the dynamic linker
# has nothing to complain about, and the user is told once.
. "$(dirname "$0")/lib.sh"

root=$work/root
for program in /bin/echo /usr/bin/env; do
  # shellcheck disable=SC2046  # no blanks in the names of libraries
  mkdir -p "$root" && cp --parents -L "$program" $(ldd "$program" | grep -o '/[^ ]*') "$root"
done
enter=(chroot)
[ "$(id -u)" = 0 ] || enter=(unshare -r chroot)
"${enter[@]}" "$root" /bin/echo >/dev/null 2>&1 || { skip "no chroot here"; exit 77; }
# It enters the root and leaves the rest to what it runs there.
enter_root="import os, subprocess; os.chroot('$root'); os.chdir('/')"

# told: how often stderr says that a program is not recorded.
told() { grep -c 'is not recorded: it cannot read .*libfbleprof.so' "$dir/profiled.err"; }
noted() { for file in $(profiles_in "$dir"); do "$REPORT" --summary "$file"; done | grep -c 'is not recorded'; }

begin "many programs in another root"
three="for i in 1 2 3; do ${enter[*]} $root /bin/echo \$i; done"
same sh -c "$three"
verified "$profile"
check "each is noted" "$(noted)" = 3
check "and counted as lost" "$(fact lost_children)" = 3
settings=(FBLEPROF_VERBOSE=1)
profiled sh -c "$three"
check "the linker does not complain" "$(grep -c ld.so "$dir/profiled.err")" = 0
check "the user is told once" "$(told)" = 1

begin "the program itself goes to another root"
settings=(FBLEPROF_VERBOSE=1)
profiled "${enter[@]}" "$root" /bin/echo there
check "its output" "$(cat "$dir/profiled.out")" = there
check "the user is told" "$(told)" = 1
check "the linker does not complain" "$(grep -c ld.so "$dir/profiled.err")" = 0

if [ "$(id -u)" = 0 ]; then
  # Python tries each directory of PATH, in a child of vfork.
  begin "each way to exec"
  same python3 -c "$enter_root
os.environ['PATH'] = '/nowhere:/elsewhere:/bin'
for i in range(3): subprocess.run(['echo', str(i)])
subprocess.run(['echo', 'env'], env=dict(os.environ, A='1'))
if os.fork() == 0: os.execv('/bin/echo', ['echo', 'execv'])
os.wait()
try: os.execv('/nowhere', ['nowhere'])
except OSError as error: print(error, flush=True)
os.execve(os.open('/bin/echo', os.O_RDONLY), ['echo', 'fexecve'], os.environ)"
  check "each program is noted, attempts are not" "$(noted)" = 5
  verified "$profile"
fi

begin "the user's own libraries stay"
environment() { profiled "${enter[@]}" "$root" /usr/bin/env; grep LD_PRELOAD "$dir/profiled.out"; }
library=$(ldconfig -p | sed -n 's/.*libm.so.6 .*=> //p' | head -n 1)
cp --parents -L "$library" "$root"
check "alone, the variable goes" "$(environment)" = ""
settings=(LD_PRELOAD="$LIB:$library")
check "others stay" "$(environment)" = "LD_PRELOAD=$library"
cp --parents "$LIB" "$root"
check "the library is there" "$(environment)" = "LD_PRELOAD=$LIB:$library"
