#!/bin/bash
# Two profiles compared, as text and as a gate for CI.
. "$(dirname "$0")/lib.sh"

printf 'main;parse;lex 100\nmain;parse 50\nmain;old 10\nmain;io 40\n' >"$work/base"
printf 'main;parse;lex 120\nmain;parse 50\nmain;new 30\nmain;io 40\n' >"$work/now"
cd "$work" || exit 1
status() { # status WANTED ARGS...
  local wanted=$1
  shift
  "$REPORT" "$@" >out 2>err
  check "status of $*" $? = "$wanted"
}
row() { "$REPORT" "${@:2}" --format csv | grep "^$1,"; }

name=table
check 'new' "$(row new --diff base --self now)" = 'new,0,30,0,30,0,0,0,new'
check 'gone' "$(row old --diff base --self now)" = 'old,10,0,10,0,0,0,0,gone'
check 'changed' "$(row parse --diff base --dominated now)" = 'parse,50,50,150,170,0,0,0,both'
check 'normalised' "$(row parse --diff base --self --normalize now)" = 'parse,60,50,180,170,0,0,0,both'

name=tree
check 'csv' "$("$REPORT" --diff base now --format csv | grep -c ,)" = 8
"$REPORT" --diff base now | grep -q '+20.0%.*lex' || check 'relative change' shown = no
"$REPORT" --diff base now | grep -q 'gone.*old' || check 'what is gone' shown = no
"$REPORT" --diff base now --format json | grep -q '"view":"diff-tree"' || check json shown = no
check 'selection' "$("$REPORT" --diff base --select parse now --format csv | grep -c 'io\|new')" = 0

name=gate
status 0 --diff base now --fail-if '+20% samples' --fail-if '-0 samples in parse*'
status 1 --diff base now --fail-if '+19.9% samples'
check 'one line' "$(wc -l <err)" = 1
status 1 --diff base now --fail-if '+5% samples in parse*' --fail-if '+0 samples self in lex'
check 'a line a rule' "$(wc -l <err)" = 2
grep -q '150 -> 170 (+20, +13.33%)' err || check 'the measured change' shown = no
status 0 --diff base base --fail-if '0 samples'
status 1 --diff base now --fail-if '0 samples in new'
status 1 --diff base now --fail-if '-50% samples in old'
status 0 --diff base now --normalize --fail-if '+0 samples'
for rule in 'x' '5' '5x samples' '5% beer' '5% samples in nothing' '5% samples on x' '5ms samples'; do
  status 2 --diff base now --fail-if "$rule"
  check "$rule: one line" "$(wc -l <err)" = 1
done
status 2 --fail-if '5% samples' now
status 2 --normalize now
status 2 --diff /nonexistent now
status 2 --diff base --edges now

name=counts
# Calls and ticks of a program are the same every time: a gate without tolerance holds.
cd "$work" || exit 1
FBLEPROF_OUT=$work/one LD_PRELOAD=$LIB "$PROGRAMS/notes.fentry" deep 1000 >/dev/null 2>&1
FBLEPROF_OUT=$work/two LD_PRELOAD=$LIB "$PROGRAMS/notes.fentry" deep 1000 >/dev/null 2>&1
status 0 --diff one --metric calls two --fail-if '0 calls' --fail-if '0 calls in deep*'
FBLEPROF_OUT=$work/three LD_PRELOAD=$LIB "$PROGRAMS/notes.fentry" deep 1001 >/dev/null 2>&1
status 1 --diff one --metric calls three --fail-if '+0 calls in deep*' 
