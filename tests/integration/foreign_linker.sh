#!/bin/bash
# A program whose dynamic linker cannot load the recorder (musl's, that of a 32-bit program) runs as without
# it, whoever starts it: it gets an LD_PRELOAD without the recorder, and the user is told once. One that
# would not start behind the recorder (gcc's shared AddressSanitizer) is recorded.
. "$(dirname "$0")/lib.sh"

# musl is not installed here, so glibc's dynamic linker has its name.
program=$work/foreign
linker=$work/ld-musl-x86_64.so.1
ln -s /lib64/ld-linux-x86-64.so.2 "$linker"
gcc -x c - -o "$program" "-Wl,--dynamic-linker=$linker" <<'END' || fail "the program was not built"
#include <stdio.h>
#include <stdlib.h>
int main(void) { puts(getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "nothing is preloaded"); }
END
printf '#!%s\n' "$program" >"$work/script"
chmod +x "$work/script"

noted() { for file in $(profiles_in "$dir"); do "$REPORT" --summary "$file"; done | grep -c 'is not recorded: it is linked with musl'; }

begin "a shell starts it"
same sh -c "$program; $work/script; $program"
verified "$profile"
check "each is noted" "$(noted)" = 3
check "and counted as lost" "$(fact lost_children)" = 3
settings=(FBLEPROF_VERBOSE=1)
profiled sh -c "$program; $program"
check "the user is told once" "$(grep -c 'is not recorded: it is linked with musl' "$dir/profiled.err")" = 1

begin "each way to start it"
same python3 -c "
import os
os.environ['PATH'] = '/nowhere:$work:' + os.environ['PATH']
def wait(pid): os.waitpid(pid, 0)
wait(os.posix_spawn('$program', ['foreign'], os.environ))
wait(os.posix_spawnp('foreign', ['foreign'], os.environ))
def forked(start):
    pid = os.fork()
    if pid == 0: start()
    wait(pid)
forked(lambda: os.execv('$program', ['execv']))
forked(lambda: os.execvp('foreign', ['execvp']))
forked(lambda: os.execve(os.open('$program', os.O_RDONLY), ['fexecve'], os.environ))
try: os.posix_spawnp('nowhere', ['nowhere'], os.environ)
except OSError as error: print(error)
"
check "each is noted" "$(noted)" = 5
verified "$profile"

begin "make starts it"
printf 'all:\n\t%s\n\t%s -x\n' "$program" "$program" >"$work/Makefile"
same make -s -f "$work/Makefile"
check "each is noted" "$(noted)" = 2

sanitized=$work/sanitized
if echo 'int main(void) { return 5; }' | gcc -x c - -fsanitize=address -o "$sanitized" 2>/dev/null; then
  begin "make starts a program with AddressSanitizer"
  printf 'all:\n\t%s || echo $$?\n' "$sanitized" >"$work/Makefile"
  same make -s -f "$work/Makefile"
  check "its status" "$(cat "$dir/profiled.out")" = 5
  check "it is recorded" "$(for file in $(profiles_in "$dir"); do "$REPORT" --summary "$file"; done | grep -c '^program .*/sanitized$')" = 1
else
  skip "no sanitizer"
fi
