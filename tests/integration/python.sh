#!/bin/bash
# Python's scripts: their functions by file and line, the C functions below them, exact counts; and
# a script that detects no difference.
. "$(dirname "$0")/lib.sh"
python=/usr/bin/python3
scripts=$here/../programs/python
counts=$here/python_counts.py
[ -x "$python" ] || { echo "no $python"; exit 77; }

# dominated_by NAME: the inclusive share of a function, in percent.
dominated_by() {
  "$REPORT" --self --all --format csv "$profile" 2>/dev/null |
    awk -F, -v name="$1" 'NR > 1 { all += $2 } $1 == name { own = $3 } END { printf "%.2f\n", 100 * own / all }'
}

begin "the shares of functions"
same "$python" "$scripts/split.py" 60000
verified "$profile"
one=$(dominated_by one) two=$(dominated_by Worker.two) three=$(dominated_by three)
loops=$(awk -v a="$one" -v b="$two" -v c="$three" 'BEGIN { print a + b + c }')
check "most time is in the loops" "${loops%.*}" -gt 40
share_of_loops() { awk -v p="$1" -v n="$loops" 'BEGIN { printf "%.2f", 100 * p / n }'; }
near_share "one" "$(share_of_loops "$one")" 16.67 3
near_share "two" "$(share_of_loops "$two")" 33.33 3
near_share "three" "$(share_of_loops "$three")" 50 3
"$REPORT" --all "$profile" >"$dir/tree" 2>/dev/null
has_text 'Worker.two  split.py:18' "$dir/tree" || fail "no file and line: $(grep -m1 two "$dir/tree")"
"$REPORT" --path 'main,native,*sha*' "$profile" >"$dir/path" 2>&1
"$REPORT" --select native --self --all --format csv "$profile" 2>/dev/null >"$dir/below"
has_text '_hashlib\|libcrypto' "$dir/below" || fail "no C functions below native()"
# The interpreter's loop is left out below a script's functions.
check "the loop is not shown" "$("$REPORT" --edges --all --format csv "$profile" 2>/dev/null |
  grep -c '^\(main\|one\|three\),_PyEval_EvalFrameDefault,')" = 0

begin "C functions by the names that Python gives them"
"$python" -c 'import sys; sys.exit(sys.implementation.name != "cpython")' || fail "not CPython"
cat >"$dir/methods.py" <<'PY'
words = [str(i) for i in range(2000)]
def build():
    for _ in range(3000):
        ",".join(words).split(",")
build()
PY
same "$python" "$dir/methods.py"
"$REPORT" --self --all --format csv "$profile" 2>/dev/null >"$dir/self.csv"
# Debug files, if they are installed, have the source's names.
has_text '^\(str.split\|unicode_split\),' "$dir/self.csv" || fail "str.split has no name"

begin "the interpreter's own functions, asked for"
settings=(FBLEPROF_NATIVE=on)
profiled "$python" "$scripts/split.py" 20000
"$REPORT" --edges --all --format csv "$profile" 2>/dev/null >"$dir/edges"
has_text '^_PyEval_EvalFrameDefault,<module>,' "$dir/edges" || fail "the loop is not shown"

begin "a deep recursion"
same "$python" "$scripts/deep.py" 50000
verified "$profile"
"$REPORT" --path 'start,down,down,*,work' "$profile" >/dev/null 2>&1 || fail "no path to work"
truncated=$(dominated_by '[truncated]')
check "paths are complete" "${truncated%.*}0" -lt 20

begin "off"
settings=(FBLEPROF_PYTHON=off)
same "$python" "$scripts/split.py" 20000
check "no script function" "$("$REPORT" --self --all --format csv "$profile" 2>/dev/null | grep -c '^three,')" = 0

# compared COUNTS: the profile's counts equal these.
compared() {
  verified "$profile"
  "$REPORT" --self --lines --all --format csv "$profile" >"$dir/self.csv" 2>/dev/null
  "$REPORT" --edges --all --format csv "$profile" >"$dir/edges.csv" 2>/dev/null
  local output
  output=$("$python" "$counts" compare "$1" "$dir/self.csv" "$dir/edges.csv") || fail "$output"
}

begin "counts are cProfile's"
"$python" "$counts" cprofile "$scripts/counted.py" "$dir/counts" >/dev/null || fail "cProfile"
settings=(FBLEPROF_EXACT=on)
same "$python" "$scripts/counted.py"
compared "$dir/counts"
"$REPORT" "$profile" 2>&1 >/dev/null | has_text "interpreter runs slower while it counts" || fail "the slower loop is not told"
check "the loop stands for the functions" "$(grep -c '^\(fib\|deep\),_PyEval_EvalFrameDefault,' "$dir/edges.csv")" = 0

begin "counts in threads"
"$python" "$counts" setprofile "$scripts/counted.py" "$dir/counts" threads >/dev/null || fail "setprofile"
settings=(FBLEPROF_EXACT=on)
same "$python" "$scripts/counted.py" threads
compared "$dir/counts"

for settings_of in "" FBLEPROF_EXACT=on; do
  for end in error kill exit; do
    begin "what a script sees, $end ${settings_of:-sampled}"
    settings=(${settings_of:+$settings_of} FBLEPROF_RATE=5000)
    plain "$python" "$scripts/visible.py" "$end"
    profiled "$python" "$scripts/visible.py" "$end"
    # Addresses of threads differ, and exact may miss the start of the script's own profiling.
    sed -i 's/0x[0-9a-f]*/0x/' "$dir"/{plain,profiled}.{out,err}
    same_as_plain
    mapfile -t files < <(profiles_in "$dir")
    verified "${files[@]}"
    "$REPORT" --self --all --format csv "${files[@]}" >"$dir/self.csv" 2>/dev/null
    has_text '^square,' "$dir/self.csv" || fail "no functions of child processes"
  done
done

# Each version has its own way to call profile functions; /usr/bin/python3 is only one of them.
for each in "$python" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python3; do
  [ -x "$each" ] || continue
  version=$("$each" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  case $version in 3.9 | 3.1[0-3]) ;; *) continue ;; esac
  begin "profile functions of its own, $each"
  settings=(FBLEPROF_EXACT=on)
  same "$each" "$scripts/profiles_itself.py"
  verified "$profile"
  check "calls of called" "$("$REPORT" --self --all --format csv "$profile" 2>/dev/null |
    awk -F, '$1 == "called" { print $4 }')" = 5003
  same "$each" "$scripts/profiles_itself.py" c
  verified "$profile"
done

begin "a wrapper"
mkdir "$dir/run"
# bash has a profile of its own, as it does some work.
cat >"$dir/run/wrapper" <<WRAPPER
#!/bin/bash
for ((i = 0; i < 100000; ++i)); do :; done
exec "$python" "\$@"
WRAPPER
chmod +x "$dir/run/wrapper"
(cd "$dir/run" && LD_PRELOAD=$LIB ./wrapper "$scripts/split.py" 20000 >/dev/null &&
  "$REPORT" --self --all --format csv >self.csv 2>/dev/null) || fail "no report"
has_text '^three,' "$dir/run/self.csv" || fail "the report without a name ends at the wrapper"

begin "ways to start a script"
mkdir "$dir/profiled/package"
cp "$scripts/split.py" "$dir/profiled/package/__main__.py"
: >"$dir/profiled/package/__init__.py"
"$python" -m venv --without-pip "$dir/venv" || fail "no venv"
cp "$scripts/split.py" "$dir/script"
sed -i '1i #!/usr/bin/env python3' "$dir/script"
chmod +x "$dir/script"
printf '#!/bin/bash\nexec "%s" "$@"\n' "$python" >"$dir/wrapper"
chmod +x "$dir/wrapper"
for command in "$python -m package" "$dir/venv/bin/python $scripts/split.py" "$dir/script" \
  "$dir/wrapper $scripts/split.py"; do
  rm -f "$profile"*
  # shellcheck disable=SC2086  # words
  PATH=/usr/bin:$PATH profiled $command 20000
  mapfile -t files < <(profiles_in "$dir")
  "$REPORT" --self --all --format csv "${files[@]}" 2>/dev/null | has_text '^three,' ||
    fail "$command: no script functions"
done
