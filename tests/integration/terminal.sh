#!/bin/bash
# The report on a terminal: colours, width, the pager; and one line for each wrong use.
. "$(dirname "$0")/lib.sh"
unset COLUMNS NO_COLOR PAGER
export TERM=xterm

begin "on a terminal"
for i in $(seq 40); do printf 'main;a_function_with_a_name_of_some_length_%d 10\n' "$i"; done >"$dir/folded"
# shown ROWS COLUMNS [VARIABLE...] -- ARGS...: what the terminal shows; the report must succeed.
shown() {
  local size=("$1" "$2") variables=()
  shift 2
  while [ "$1" != -- ]; do
    variables+=("$1")
    shift
  done
  shift
  env "${variables[@]}" python3 "$here/terminal.py" "${size[@]}" "$REPORT" "$@" "$dir/folded" ||
    fail "${variables[*]} $*: status $?"
}
escape=$(printf '\033')
widest() { # some awks count bytes
  sed "s/$escape\[[0-9;]*m//g" |
    python3 -c 'import sys; print(max(len(line.decode().rstrip()) for line in sys.stdin.buffer))'
}

check "it has colours" "$(shown 100 100 -- --self | grep -c "$escape")" -gt 0
for plain in NO_COLOR=1 TERM=dumb; do
  check "$plain" "$(shown 100 100 $plain -- --self | grep -c "$escape")" = 0
done
check "NO_COLOR= is none" "$(shown 100 100 NO_COLOR= -- --self | grep -c "$escape")" -gt 0
check "--colour never" "$(shown 100 100 -- --self --colour never | grep -c "$escape")" = 0
check "it fits" "$(shown 100 60 -- --self | widest)" -le 60
check "COLUMNS decides" "$(shown 100 200 COLUMNS=70 -- --self | widest)" -le 70
check "a width that cannot be" "$(shown 100 60 COLUMNS=3 -- --self | widest)" -gt 20

mark='sed s/^/paged:/'
check "a long text is paged" "$(shown 10 100 "PAGER=$mark" -- --all | grep -c ^paged:)" -gt 40
check "a short one is not" "$(shown 200 100 "PAGER=$mark" -- --all | grep -c ^paged:)" = 0
for none in PAGER= PAGER=cat PAGER=/nowhere/pager; do
  check "$none: it is shown all the same" "$(shown 10 100 "$none" -- --all | grep -c some_length)" -ge 40
done
check "a pager that is left early" "$(shown 10 100 "PAGER=head -n 3" -- --all | wc -l)" = 3

# refuses WORD ARGS...: one line on stderr, which has the word; status 2.
refuses() {
  local word=$1
  shift
  "$REPORT" "$@" >"$dir/out" 2>"$dir/err" </dev/null
  check "$*: status" $? = 2
  check "$*: one line" "$(wc -l <"$dir/err")" = 1
  has_text "$word" "$dir/err" || fail "$* says something else"
}
begin "wrong use"
printf 'main;f 10\n' >"$dir/folded"
refuses '--colour mauve: auto, always or never' --colour mauve "$dir/folded"
refuses 'a share: 0 to 100' --min 101 "$dir/folded"
refuses 'a share: 0 to 100' --min=-1 "$dir/folded"
refuses 'a packed profile is trimmed' --pack --trim "$dir/folded"
refuses '--serve takes files' --serve --select f "$dir/folded"
refuses '--serve takes files' --serve --times-from "$dir/folded" "$dir/folded"
refuses 'compares in a view' --export folded --diff "$dir/folded" "$dir/folded"
refuses 'say with what by --diff' --normalize "$dir/folded"
refuses 'say with what by --diff' --fail-if '+5% cpu' "$dir/folded"
refuses 'not with --no-symbols' --coverage --no-symbols "$dir/folded"
refuses '--window chooses what contexts cost' --verify --window a..b "$dir/folded"
refuses '--times-from is for views' --summary --times-from "$dir/folded" "$dir/folded"
refuses 'has one order only' --waits --sort name "$dir/folded"
refuses '--sort size' --self --sort size "$dir/folded"
refuses '--diff shows one of' --edges --diff "$dir/folded" "$dir/folded"
refuses 'no --format' --raw --format json "$dir/folded"
refuses 'unrecognised' --no-such-option "$dir/folded"
refuses 'cannot write' --self -o "$dir/none/out" "$dir/folded"
refuses 'cannot write' --self --busy -o "$dir/none/out" "$dir/folded" # without what is said about the report
LD_PRELOAD=$LIB FBLEPROF_OUT=$profile "$PROGRAMS/endings.fentry" return >"$dir/out"
refuses 'cannot write' --raw -o "$dir/none/out" "$profile"
refuses 'stdin: only a file can be packed' --pack -
refuses 'stdin: only a file can be packed' --pack -o "$dir/out.ml" -
refuses 'stdin: only a file can be trimmed' --trim -
refuses 'stdin: empty file' --verify -
refuses 'No such file' --self "$dir/none"
refuses 'No such file' --diff "$dir/none,$dir/none.2" "$dir/folded"

begin "what is asked for, not a report"
check "--version" "$("$REPORT" --version | grep -c '[0-9]')" = 1
"$REPORT" --help >"$dir/out" || fail "--help fails"
has_text '--dominated' "$dir/out" || fail "--help names no views"
"$REPORT" --self --help >"$dir/out" || fail "--help with a view fails"
"$REPORT" --self "$dir/none" >/dev/full 2>"$dir/err"
check "a file that is not there" $? = 2
printf 'main;f 10\n' >"$dir/folded"
"$REPORT" --self "$dir/folded" >/dev/full 2>"$dir/err"
check "a full disk: status" $? = 2
has_text 'stdout: cannot write' "$dir/err" || fail "it does not say so"
"$REPORT" --self "$dir/none" 2>/dev/full
check "an error that cannot be told: status" $? = 2
"$REPORT" --self --no-such-option 2>/dev/full
check "a wrong use that cannot be told: status" $? = 2
printf 'nothing' >"$dir/damaged"
"$REPORT" --self --tolerant "$dir/folded" "$dir/damaged" >"$dir/out" 2>/dev/full
check "a warning that cannot be told: status" $? = 0
has_text '10  *100.0%.* f$' "$dir/out" || fail "it costs the report"
for i in $(seq 9999); do printf 'main;function_%d 1\n' "$i"; done >"$dir/many"
"$REPORT" --export folded "$dir/many" >/dev/full 2>"$dir/err"
check "a full disk, and more text than a buffer holds: status" $? = 2
has_text 'stdout: cannot write.*No space' "$dir/err" || fail "it does not say so"
timeout 20 "$REPORT" --serve "$dir/folded" >/dev/full 2>"$dir/err"
check "a full disk, and a link: status" $? = 2
has_text 'stdout: cannot write the link: No space' "$dir/err" || fail "it does not say so"
check "a full disk, and a link: one line" "$(wc -l <"$dir/err")" = 1
"$REPORT" --export folded "$dir/many" 2>"$dir/err" | head -n 1 >"$dir/out"
check "a reader that leaves early" "${PIPESTATUS[*]}" = "0 0"
check "it is no error" ! -s "$dir/err"
LD_PRELOAD=$LIB FBLEPROF_OUT=$profile "$PROGRAMS/endings.fentry" return >"$dir/out"
"$REPORT" --raw "$profile" "$profile" "$profile" "$profile" 2>"$dir/err" | head -n 1 >"$dir/out"
check "a reader of records that leaves early" "${PIPESTATUS[*]}" = "0 0"
check "it is no error either" ! -s "$dir/err"
"$REPORT" --raw "$profile" >"$dir/raw"
"$REPORT" --raw - <"$profile" 2>&1 | cmp - "$dir/raw" || fail "--raw does not read stdin"
"$REPORT" --verify - <"$profile" >"$dir/out" 2>&1
check "--verify of stdin: status" $? = 0
has_text 'stdin: all .* invariants hold' "$dir/out" || fail "--verify does not read stdin"
"$REPORT" --raw "$profile" >/dev/full 2>"$dir/err"
check "a full disk, and records: status" $? = 2
has_text 'stdout: cannot write.*No space' "$dir/err" || fail "it does not say so"
"$REPORT" --diff "$dir/folded,$dir/folded" "$dir/folded,$dir/folded" >"$dir/out" || fail "several runs fail"
