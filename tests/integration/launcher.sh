#!/bin/bash
# fble-prof: its settings and messages; the program's behaviour does not change.
set -u
: "${FBLE_PROF:?path of fble-prof}" "${LIB:?path of libfbleprof.so}" "${BUILD:?build directory}"
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
  expect 'what it says' 1 "$(grep -c '^fble-prof: small/: No space left on device: no profile .* true runs' err)"
  export XDG_CACHE_HOME=$work/small
  expect 'plans are kept elsewhere' "/tmp/fbleprof-$(id -u)" "$(variable FBLEPROF_EXACT_PLANS --exact -o a.out)"
  unset XDG_CACHE_HOME
  umount small
fi

# --- the settings
expect 'the recorder alone' "$LIB" "$(variable LD_PRELOAD -o a.out)"
expect 'the recorder first' "$LIB:libm.so.6" "$(LD_PRELOAD=libm.so.6 variable LD_PRELOAD -o a.out)"
expect 'when the run began' "$(date +%s | cut -c1-7)" "$(variable FBLEPROF_RUN -o a.out | cut -c1-7)"
expect '--rate' 500 "$(variable FBLEPROF_RATE -o a.out --rate=500)"
expect 'settings that are there stay' 77 "$(FBLEPROF_RATE=77 variable FBLEPROF_RATE -o a.out)"
expect 'options win over settings' 78 "$(FBLEPROF_RATE=77 variable FBLEPROF_RATE -o a.out -r78)"

# --- wrong use: one line, status 2
for use in '' '--' '--rate 0 true' '--rate 20001 true' '--clock sun true' '--bogus true' '-r' \
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
  "$FBLE_PROF" --help >/dev/full 2>err
  expect 'help on a full disk' 2 $?
fi

# --- programs that cannot be run
status 127 no-such-program
lines 1
status 127 ./no-such-program
status 126 "$work"
lines 1
touch plain
status 126 ./plain

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
mkdir folder
for out in text link folder; do
  status 0 -o "$out" true
  lines 1
  grep -q "$out" err || expect 'the reason' "$out" "$(cat err)"
done
[ "$(cat text)" = text ] || expect 'the file' text "$(cat text)"
rm -rf text link folder
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
