# shellcheck shell=bash
# Functions that the integration tests share. Sourced, not run.
#
#   begin NAME                 starts a case: its own directory, no settings
#   settings=(FBLEPROF_...=V)  environment of the profiled run
#   limits=(@as=N ...)         resource limits of both runs
#   same PROGRAM ARGS...       runs it without and with the profiler; stdout, stderr and the way it
#                              ended must be equal. $profile is the profile's path
#   profiled PROGRAM ARGS...   only with it; plain ...: only without
#   expected [PROFILE]         the program's "expect" lines hold in the profile
#   calls CALLER CALLEE, share FUNCTION, fact KEY: figures of $profile, from the report
#   check WHAT ARGS...         a test(1) expression, with a readable failure
#   has_text PATTERN FILE      like grep -q, and shows the text if nothing matches
#   lacks_text PATTERN FILE    the reverse: shows the lines that match
#
# A failure is printed at once; the script goes on, and fails at its end.
set -u
: "${LIB:?path of libfbleprof.so}" "${REPORT:?path of fble-prof-report}"
: "${PROGRAMS:?directory of the test programs}"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
facts=$here/facts.py
work=$(mktemp -d "${TMPDIR:-/tmp}/fbleprof.XXXXXX")
name=none settings=() limits=() profile=
unset "${!FBLEPROF_@}"
ulimit -c 0
export XDG_CACHE_HOME=$work/cache
cd "$work" || exit 1

finish() {
  local status=$?
  cd /
  if [ -s "$work/failures" ]; then
    printf '%d failed check(s)\n' "$(wc -l <"$work/failures")"
    status=1
  fi
  if [ -n "${KEEP_WORK:-}" ]; then
    printf 'kept %s\n' "$work"
  else
    rm -rf "$work"
  fi
  exit "$status"
}
trap finish EXIT

fail() {
  printf 'FAIL [%s] %s\n' "$name" "$*" | tee -a "$work/failures.text"
  echo x >>"$work/failures"
}

# bash calls it. A check that is misspelt must not pass.
command_not_found_handle() { fail "$1: command not found"; }

# For tests that this machine cannot run (not root, no such kernel feature): prints a line, fails
# nothing.
skip() { printf 'skipped [%s] %s\n' "$name" "$*"; }

begin() {
  name=$*
  dir=$work/$(tr -c 'a-zA-Z0-9\n' _ <<<"$name")
  profile=$dir/mlmon.out
  settings=() limits=()
  rm -rf "$dir"
  mkdir -p "$dir/plain" "$dir/profiled"
}

# run WHERE VARIABLE... -- PROGRAM ARGS...
run() {
  local where=$1 environment=()
  shift
  while [ "$1" != -- ]; do
    environment+=("$1")
    shift
  done
  shift
  (cd "$dir/$where" && exec timeout -k 5 "${TIMEOUT:-120}" \
    "$PROGRAMS/outcome.plain" "$dir/$where.status" "${limits[@]}" "${environment[@]}" "$@" \
    >"$dir/$where.out" 2>"$dir/$where.err") </dev/null ||
    fail "the $where run did not end (status $?)"
}

plain() { run plain -- "$@"; }
profiled() { run profiled LD_PRELOAD="$LIB" FBLEPROF_OUT="$profile" "${settings[@]}" -- "$@"; }

# same_as_plain: the profiled run looked like the plain one.
same_as_plain() {
  local what
  for what in status out err; do
    cmp -s "$dir/plain.$what" "$dir/profiled.$what" ||
      fail "$what differs under the profiler:" \
        "$(diff -a "$dir/plain.$what" "$dir/profiled.$what" | head -n 8)"
  done
}

same() {
  plain "$@"
  profiled "$@"
  same_as_plain
}

check() {
  local what=$1
  shift
  [ "$@" ] || fail "$what: not true: $*"
}

# has_text PATTERN [FILE...]: like grep -q. If nothing matches, prints the beginning of the text.
has_text() {
  local pattern=$1 text
  shift
  text=$(cat -- "$@")
  grep -q -e "$pattern" <<<"$text" && return
  printf 'no "%s" in:\n%s\n' "$pattern" "$(head -n 12 <<<"$text")"
  return 1
}

# lacks_text PATTERN [FILE...]: succeeds if nothing matches; else prints the first lines that do.
lacks_text() {
  local pattern=$1 text
  shift
  text=$(cat -- "$@") || return 1
  text=$(grep -m 12 -e "$pattern" <<<"$text") || return 0
  printf 'found "%s":\n%s\n' "$pattern" "$text"
  return 1
}

# verified FILE...: each exists and satisfies every invariant of the format.
verified() {
  local file output
  for file in "$@"; do
    [ -s "$file" ] || { fail "there is no profile $file"; continue; }
    output=$("$REPORT" --verify "$file" 2>&1) || fail "--verify $file: $(tail -n 5 <<<"$output")"
  done
}

expected() {
  local file=${1:-$profile} output
  verified "$file"
  output=$(python3 "$facts" expect "$file" <"$dir/profiled.out" 2>&1) || fail "$output"
}

calls() { python3 "$facts" calls "${3:-$profile}" "$1" "$2"; }
share() { python3 "$facts" share "${2:-$profile}" "$1"; }
dominated() { python3 "$facts" dominated "${2:-$profile}" "$1"; }
dominated_ms() { python3 "$facts" ms "${2:-$profile}" "$1"; }
fact() { python3 "$facts" fact "${2:-$profile}" "$1"; }

# near WHAT VALUE EXPECTED MARGIN: numbers with decimals.
near() { is_near "$2" "$3" "$4" || fail "$1 is $2, expected $3 within $4"; }
is_near() { awk -v a="$1" -v b="$2" -v m="$3" 'BEGIN { d = a - b; exit !(d <= m && d >= -m) }'; }

# near_share WHAT SHARE EXPECTED [MORE]: percentages; within what chance does to a count of the
# profile's samples (4.5 standard deviations: once in 100,000), and MORE points (0.5).
# share_margin EXPECTED MORE: these bounds.
near_share() { near "$1" "$2" "$3" "$(share_margin "$3" "${4:-0.5}")"; }
share_margin() {
  awk -v p="$1" -v n="$(fact samples)" -v more="$2" \
    'BEGIN { printf "%.3f", (n > 0 ? 4.5 * sqrt(p * (100 - p) / n) : 0) + more }'
}

# launcher_refuses STATUS WORD ARGS...: fble-prof fails with one line that contains the word.
launcher_refuses() {
  local expected=$1 word=$2
  shift 2
  "$FBLE_PROF" "$@" >"$dir/out" 2>"$dir/err"
  check "$*: status" $? = "$expected"
  check "$*: one line" "$(wc -l <"$dir/err")" = 1
  grep -q "$word" "$dir/err" || fail "$*: says $(cat "$dir/err")"
}

# profiles_in DIRECTORY: the profiles there, one per line.
profiles_in() { find "$1" -maxdepth 1 -name 'mlmon.out*' -size +0 | sort; }

# Tests of attaching: programs that run meanwhile.
needs_tracing() {
  if ! grep -qsx 0 /proc/sys/kernel/yama/ptrace_scope &&
    [ -e /proc/sys/kernel/yama/ptrace_scope ] && [ "$(id -u)" != 0 ]; then
    skip "the kernel forbids tracing"
    exit 77
  fi
}

# started ARGS...: starts a program; its process id is $pid.
started() {
  (cd "$dir" && exec timeout -k 5 "${TIMEOUT:-60}" "$@" >"$dir/out" 2>"$dir/err") &
  timer=$!
  for _ in $(seq 100); do
    pid=$(pgrep -P "$timer" | head -n 1)
    # Wait until its libc is ready.
    [ -n "$pid" ] && grep -qs 'libc\.so' "/proc/$pid/maps" && sleep 0.2 && return
    sleep 0.05
  done
  fail "it did not start: $(cat "$dir/err")"
}
# many_libraries N: the paths of N libraries in $dir/many, of one build; for LD_PRELOAD.
many_libraries() {
  local i
  mkdir -p "$dir/many"
  echo 'int many(int n) { return n ? 3 * n : 1; }' |
    gcc -xc -O1 -shared -fPIC -o "$dir/many/1.so" - || fail "cannot build a library"
  for i in $(seq 2 "$1"); do cp "$dir/many/1.so" "$dir/many/$i.so"; done
  seq -f "$dir/many/%g.so" -s : "$1"
}
# said TEXT: waits until the program that was `started` has printed it.
said() {
  for _ in $(seq 600); do
    grep -q "$1" "$dir/out" && return
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.05
  done
  fail "the program did not say $1: $(cat "$dir/out" "$dir/err")"
}
# sleeps_went_on: phases.c has seen few of its sleeps end early. One may: a sample that comes just
# when a thread begins to sleep (Known limits).
sleeps_went_on() {
  local bad
  bad=$(sed -n '$s/ bad sleeps$//p' "$dir/out")
  check "no sleeps were disturbed" "${bad:-none counted}" -le 1
}
# text_of: a hash of each mapping of code.
text_of() {
  python3 - "$pid" <<'END'
import hashlib, sys
memory = open(f"/proc/{sys.argv[1]}/mem", "rb")
for line in open(f"/proc/{sys.argv[1]}/maps"):
    fields = line.split()
    if "x" not in fields[1] or not fields[-1].startswith("/") or "fbleprof" in fields[-1]:
        continue
    begin, end = (int(x, 16) for x in fields[0].split("-"))
    memory.seek(begin)
    print(fields[-1], hashlib.sha256(memory.read(end - begin)).hexdigest())
END
}
attach() { does attach "$@"; }
detach() { does detach "$@"; }
# A thread that touches a page of its profile waits for a busy disk, sometimes for longer than fble-prof
# waits for the thread.
does() {
  local tries
  for tries in 1 2 3; do
    "$FBLE_PROF" "$@" 2>"$dir/attach.err" && return
    grep -q 'does not stop: .*try again' "$dir/attach.err" || break
  done
  fail "$*, tried $tries times: $(cat "$dir/attach.err")"
}
ended() { wait "$timer" || fail "the program ended with $?: $(cat "$dir/err")"; }
