#!/bin/bash
# fble-prof: its settings and messages; the program's behaviour does not change.
set -u
: "${FBLE_PROF:?path of fble-prof}" "${LIB:?path of libfbleprof.so}" "${BUILD:?build directory}"
: "${PROGRAMS:?directory of the test programs}"
work=$(mktemp -d "${TMPDIR:-/tmp}/fbleprof.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset "${!FBLEPROF_@}" LD_PRELOAD
failures=0

# expect WHAT WANTED GOT
expect() {
  [ "$2" = "$3" ] && return
  printf 'FAIL %s: expected "%s", got "%s"\n' "$1" "$2" "$3"
  failures=$((failures + 1))
}

# status WANTED ARGS...: the exit status of fble-prof; its stderr is in $work/err
status() {
  local wanted=$1
  shift
  "$FBLE_PROF" "$@" >out 2>err </dev/null
  expect "exit status of: fble-prof $*" "$wanted" $?
}
lines() { expect "lines on stderr ($(head -c 300 err))" "$1" "$(wc -l <err)"; }

variable() { "$FBLE_PROF" "${@:2}" env 2>/dev/null | sed -n "s/^$1=//p"; }

# --- the program's behaviour does not change
status 7 -o a.out sh -c 'exit 7'
lines 0
[ -s a.out ] || expect 'a profile' a.out nothing
status 143 -o a.out sh -c 'kill -TERM $$' # bash's word for death by SIGTERM
expect 'arguments' '-r --out a b' "$("$FBLE_PROF" -o a.out echo -r --out 'a b')"
expect 'stdin' 'hello' "$(echo hello | "$FBLE_PROF" -o a.out cat)"
for options in '' --names '--only x*' '--exact --runs 2'; do
  # shellcheck disable=SC2016,SC2086 # the program's own variables; words
  "$FBLE_PROF" -o a.out $options sh -c 'for n in 0 1 2; do [ ! -e /proc/$$/fd/$n ] || exit 1; done' \
    <&- >&- 2>&-
  expect "what is closed stays so, ${options:-without options}" 0 $?
done
printf 'echo no first line\n' >script
chmod +x script
expect 'a script without #!' 'no first line' "$("$FBLE_PROF" -o a.out ./script)"
expect 'a program found along PATH' 'no first line' "$(PATH=$work:$PATH "$FBLE_PROF" -o a.out script)"

# --- a full disk
mkdir small
if mount -t tmpfs -o size=64k none small 2>/dev/null; then
  head -c 65536 /dev/zero >small/rest 2>/dev/null
  status 0 -o small/a.out true
  lines 1
  expect 'what it says' 1 "$(grep -c '^fble-prof: small/: No space left on device: the profile of true may be lost' err)"
  export XDG_CACHE_HOME=$work/small
  expect 'plans are kept elsewhere' "/tmp/fbleprof-$(id -u)" "$(variable FBLEPROF_EXACT_PLANS --exact -o a.out)"
  unset XDG_CACHE_HOME
  umount small
fi

# --- the settings
if command -v lua5.4 >/dev/null; then
  for value in off 0 no; do
    expect "FBLEPROF_LUA=$value" "$LIB" "$(FBLEPROF_LUA=$value "$FBLE_PROF" -o a.out \
      lua5.4 -e 'print(os.getenv("LD_PRELOAD"))')"
  done
fi
expect 'the recorder alone' "$LIB" "$(variable LD_PRELOAD -o a.out)"
expect 'the recorder first' "$LIB:libm.so.6" "$(LD_PRELOAD=libm.so.6 variable LD_PRELOAD -o a.out)"
expect 'when the run began' "$(date +%s | cut -c1-7)" "$(variable FBLEPROF_RUN -o a.out | cut -c1-7)"
expect '--rate' 500 "$(variable FBLEPROF_RATE -o a.out --rate=500)"
expect 'settings that are there stay' 77 "$(FBLEPROF_RATE=77 variable FBLEPROF_RATE -o a.out)"
expect 'options win over settings' 78 "$(FBLEPROF_RATE=77 variable FBLEPROF_RATE -o a.out -r78)"

# --- wrong use: one line, status 2
mkdir 'p%p'
for use in '' '--' '--names -o p%p/a.out true' '--runs 2 --exact -o p%p/a.out true' '--rate 0 true' '--rate 20001 true' '--clock sun true' '--bogus true' '-r' \
  '--memory 1 true' '--compact x true' "-o $work/nowhere/a.out true"; do
  # shellcheck disable=SC2086 # the words of the use
  status 2 $use
  lines 1
done
status 0 --help
lines 0
grep -q -- --callsites out || expect '--help' '--callsites' "$(head -c 200 out)"
status 0 --version
if [ -w /dev/full ]; then
  for command in '' attach detach ctl; do
    # shellcheck disable=SC2086 # no word, or one
    "$FBLE_PROF" $command --help >/dev/full 2>err
    expect "help on a full disk: $command" 2 $?
    lines 1
  done
fi

# --- programs that cannot be run
status 127 no-such-program
lines 1
status 127 ./no-such-program
status 126 "$work"
lines 1
touch plain
status 126 ./plain
mkfifo fifo
chmod 755 fifo
status 126 ./fifo
echo "#!$work/fifo" >script
chmod 755 script
status 126 ./script

# --- programs that cannot be profiled run, with one line
cat >program.c <<'C'
int main(void) { return 5; }
C
if gcc -static program.c -o static 2>/dev/null; then
  status 5 -o a.out ./static
  lines 1
  grep -q static err || expect 'the reason' static "$(cat err)"
fi
if [ "$(id -u)" = 0 ] && gcc program.c -o setuid && chown 12345 setuid && chmod 4755 setuid; then
  status 5 -o a.out ./setuid
  lines 1
  grep -q setuid err || expect 'the reason' setuid "$(cat err)"
fi

# --- files that cannot be written cause one line, and the program runs
echo text >text
ln -s text link
for out in text link; do
  status 0 -o "$out" true
  lines 1
  grep -q "$out" err || expect 'the reason' "$out" "$(cat err)"
done
[ "$(cat text)" = text ] || expect 'the file' text "$(cat text)"
rm -f text link
status 0 -o /proc/profile true
lines 1
grep -q /proc err || expect 'the reason' /proc "$(cat err)"
(
  ulimit -f 100
  status 7 -o a.out sh -c 'exit 7'
  lines 1
  exit "$failures"
)
failures=$((failures + $?))
grep -q 'ulimit -f' err || expect 'the reason' 'ulimit -f' "$(cat err)"

# --- what is not installed beside it is named
# refused STATUS WORDS ARGS...: by $tool, in one line with these words
refused() {
  local wanted=$1 words=$2
  shift 2
  "$tool" "$@" >out 2>err </dev/null
  expect "exit status of: $tool $*" "$wanted" $?
  lines 1
  grep -q "$words" err || expect "the reason" "$words" "$(cat err)"
}
mkdir -p 'bin' 'with blank'
tool=$work/bin/fble-prof
cp "$FBLE_PROF" bin
for words in 'true' 'attach 1'; do
  # shellcheck disable=SC2086 # two words
  refused 2 'libfbleprof.so was not found' $words
done
refused 126 'fble-prof-push: No such file' push
cp "$LIB" bin
refused 2 'libfbleprof_alloc.so was not found beside .*bin/libfbleprof.so' --memory-profile true
refused 2 'libfbleprof_wait.so was not found beside .*bin/libfbleprof.so' --waits true
refused 2 'bin/fble-prof-report was not found' --only 'x*' true
printf '#!/nowhere/interpreter\n' >bin/fble-prof-report
chmod +x bin/fble-prof-report
refused 2 'bin/fble-prof-report: No such file' --only 'x*' true
rm bin/fble-prof-report
"$FBLE_PROF" -o a.out --only 're:(' true 2>&-
expect 'a wrong filter without stderr' 2 $?
"$tool" -o names.out --names true 2>err
expect 'names without the report: status' 0 $?
grep -q 'names: .*fble-prof-report: No such file' err || expect 'the reason' 'no report' "$(cat err)"
printf '#!/bin/sh\necho $# >>report.calls\n' >bin/fble-prof-report
chmod +x bin/fble-prof-report
# shellcheck disable=SC2016 # the program's own variables
"$tool" -o many.out --names sh -c 'unset LD_PRELOAD
  for n in $(seq 250); do head -c 4096 "$FBLEPROF_OUT" >"$FBLEPROF_OUT.$n"; done'
expect 'names for many profiles, some at once' '202 2' "$(head -n 1 report.calls) $(wc -l <report.calls)"
rm bin/fble-prof-report report.calls many.out*
"$tool" -o python.out /bin/sh -c 'exit 3' 2>err
expect 'adapters are not needed' 3 $?
cp bin/* 'with blank'
tool="$work/with blank/fble-prof"
refused 2 'cannot contain a path with a colon or a blank' true
tool=$FBLE_PROF
printf '#!/nowhere/interpreter\n' >broken
chmod +x broken
refused 127 'broken: No such file' -o a.out ./broken
refused 2 'expected a time' --window soon true

# --- which calls are wrapped
preloads() { variable LD_PRELOAD -o a.out "$@" | tr : '\n' | sed 's,.*/,,' | tr '\n' ' '; }
alone='libfbleprof.so ' with_waits='libfbleprof_wait.so libfbleprof.so ' with_allocations='libfbleprof.so libfbleprof_alloc.so '
expect 'allocations' "$with_allocations" "$(preloads --memory-profile)"
expect 'waits' "$with_waits" "$(preloads --waits)"
expect 'waits, by elapsed time' "$with_waits" "$(preloads --clock wall)"
expect 'no waits' "$alone" "$(preloads --clock wall --no-waits)"
for off in '' 0 off no false; do
  expect "FBLEPROF_ALLOCS='$off'" "$alone" "$(FBLEPROF_ALLOCS=$off preloads)"
  expect "FBLEPROF_WAITS='$off'" "$alone" "$(FBLEPROF_WAITS=$off preloads --clock wall)"
done
expect 'no waits, by calls' "$alone" "$(FBLEPROF_WAITS=1 preloads --clock ticks)"
expect 'an empty filter' '' "$(FBLEPROF_FILTER='' variable FBLEPROF_FILTER_TABLES -o a.out)"
for off in '' 0 off no false; do
  expect "FBLEPROF_EXACT='$off'" '' "$(FBLEPROF_EXACT=$off variable FBLEPROF_EXACT_TOOL -o a.out)"
done
expect 'plans' "$work/cache/fbleprof" "$(XDG_CACHE_HOME=$work/cache variable FBLEPROF_EXACT_PLANS -o a.out --exact)"

# --- a directory that is known when the program runs
"$FBLE_PROF" -o "$work/%p/a.out" true 2>err
expect 'a name with %: status' 0 $?
for place in none/a.out:'none: no such directory' small:'small: is a directory; name a file in it'; do
  status 2 -o "${place%%:*}" touch ran
  lines 1
  expect "-o ${place%%:*}" "fble-prof: --out: ${place#*:}" "$(cat err)"
done
[ -e ran ] && expect 'a program without a place for its profile' 'not run' run

# --- events that the kernel refuses
for rule in '298=13 perf_event_paranoid cycles' '298=1 perf_event_paranoid page-faults' \
  '298=2 hardware.counter cycles' '298=22 does.not.count.it:.Invalid page-faults'; do
  read -r call text event <<<"$rule"
  "$PROGRAMS/refusing.plain" "$call" -- "$FBLE_PROF" --clock "$event" true 2>err
  expect "--clock $event, $call" 2 $?
  lines 1
  grep -q -- "--clock=$event: .*$text" err || expect 'the reason' "$text" "$(cat err)"
done

# --- no second process (fork is clone, call 56)
"$PROGRAMS/refusing.plain" 56=11 -- "$FBLE_PROF" -o names.out --names sh -c 'exit 6' 2>err
expect 'without a fork: status' 6 $?
grep -q 'cannot fork: Resource temporarily' err || expect 'the reason' 'cannot fork' "$(cat err)"

# --- signals for the program, and its own end
# The kernel keeps no status of children if SIGCHLD is ignored. The program inherits that.
expect 'SIGCHLD is ignored: status' 6 \
  "$(env --ignore-signal=CHLD "$FBLE_PROF" -o names.out --names sh -c 'exit 6' 2>err; echo $?)"
for option in --rate=99 --names; do
  expect "SIGCHLD is ignored: the program, $option" 1 \
    "$(env --ignore-signal=CHLD "$FBLE_PROF" -o names.out $option grep -c '^SigIgn:.*1....$' /proc/self/status)"
done
# A program that is killed cannot write that it has ended. Its profile is cut to its size all the same.
"$FBLE_PROF" -o killed.out --names sh -c 'for i in 1 2 3; do :; done; kill -9 $$' 2>err
expect 'killed: status' 137 $?
expect 'killed: its profile is whole' 1 "$(($(stat -c %s killed.out) < 1000000))"
"$FBLE_PROF" -o names.out --names sh -c 'trap "exit 9" TERM; echo waits; while :; do :; done' >out 2>err &
launcher=$!
for _ in $(seq 200); do grep -q waits out && break; sleep 0.05; done
kill -TERM $launcher
wait $launcher
expect 'a signal to fble-prof reaches the program' 9 $?
cat >presses.py <<'END'
import os, pty, signal, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
def show(until):
    text = b""
    while until not in text:
        text += os.read(terminal, 1000)
    return text
show(b"ready")
os.write(terminal, b"\x03")  # Ctrl-C
text = show(b"one ")
# A second signal while the first one is pending would be the same.
while any("Pnd:" in line and int(line.split()[1], 16) for line in open(f"/proc/{pid}/status")):
    pass
os.kill(pid, signal.SIGINT)
print((text + show(b"end")).count(b"one "))
END
cat >waits.py <<'END'
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
print("ready", flush=True)
for patience in 60, 60, 1:
    print("one " if signal.sigtimedwait({signal.SIGINT}, patience) else "end", flush=True)
END
expect 'SIGINT: once from the terminal, once from others' 2 \
  "$(timeout 60 python3 presses.py "$FBLE_PROF" -o names.out --names python3 waits.py 2>err)"

# --- AddressSanitizer must be first: programs linked with it run and are profiled
if gcc -fsanitize=address program.c -o sanitized 2>/dev/null; then
  status 5 -o asan.out ./sanitized
  lines 0
  [ -s asan.out ] || expect 'a profile' asan.out nothing
  printf '#include <stdlib.h>\n#include <stdio.h>\nint main(void) { return puts(getenv("ASAN_OPTIONS")) < 0; }\n' \
    >options.c
  gcc -fsanitize=address options.c -o options
  expect 'its options stay' detect_leaks=0:verify_asan_link_order=0 \
    "$(ASAN_OPTIONS=detect_leaks=0 "$FBLE_PROF" -o a.out ./options)"
  expect 'once, in a run within a run' detect_leaks=0:verify_asan_link_order=0 \
    "$(ASAN_OPTIONS=detect_leaks=0 "$FBLE_PROF" -o a.out "$FBLE_PROF" -o b.out ./options)"
fi

# --- it works from its installation directory
if cmake --install "$BUILD" --prefix "$work/prefix" >install.log 2>&1; then
  installed=$work/prefix/bin/fble-prof
  expect 'the installed recorder' "$work/prefix" \
    "$(FBLE_PROF=$installed variable LD_PRELOAD -o a.out | sed 's,/lib.*,,')"
  [ -s "$work/prefix/share/man/man1/fble-prof.1" ] || expect 'a man page' fble-prof.1 nothing
else
  expect 'cmake --install' success "$(tail -n 3 install.log)"
fi

exit $((failures != 0))
