#!/bin/bash
# Views and exports send a program's names to a terminal, a spreadsheet, a page or a parser only as
# text.
. "$(dirname "$0")/lib.sh"
: "${SOURCE:?path of the sources}"
begin "names that would do harm"
sed 's/harmful comment/\x1b[31m\xe2\x80\xae <\/script>/' "$SOURCE/tests/programs/untrusted_names.c" \
  >"$dir/source.c"
program=$dir/$'prog\e[31m\nINJECTED'
if ! gcc -w -O1 -g -pg -mfentry -I"$SOURCE/libprof/include" -c "$dir/source.c" -o "$dir/object.o" ||
  ! objcopy --redefine-sym work=$'work\e[31m\nINJECTED' --redefine-sym caller='=1+1' "$dir/object.o" ||
  ! gcc "$dir/object.o" -o "$program" -pthread; then
  fail "cannot build"
fi
settings=(FBLEPROF_LEAVES=1 FBLEPROF_CALLSITES=1)
same "$program" '=1+1' $'argument\e[31m\nINJECTED' '</script>'
verified "$profile"
mv "$profile" "$work/base"
profiled "$program" '=1+1'
python3 "$here/harmless.py" "$REPORT" "$profile" "$work/base" >"$dir/found" 2>&1 ||
  fail "$(tail -n 20 "$dir/found")"

begin "errors tell names harmlessly"
# harmless_line COMMAND...: stderr is one line without control characters.
harmless_line() {
  "$@" >/dev/null 2>"$dir/told" </dev/null
  check "one line from ${1##*/}" "$(wc -l <"$dir/told")" = 1
  if LC_ALL=C.UTF-8 grep -nP '[\x00-\x08\x0b-\x1f\x7f]|[\x{80}-\x{9f}]' "$dir/told"; then
    fail "a control character from ${1##*/}"
  fi
}
for file in $'no\e[31m\nfile' $'\302\23331m'; do
  harmless_line "$REPORT" "$work/$file"
  harmless_line "$FBLE_PROF" "$work/$file"
  harmless_line env FBLEPROF_VERBOSE=1 FBLEPROF_OUT="$dir/$file/out" LD_PRELOAD="$LIB" sleep 0
done
