#!/bin/bash
# Queries, sequences, cliques, the hot path and the overview, for real profiles with known calls.
. "$(dirname "$0")/lib.sh"

# view ARGS...: CSV, in calls.
view() { "$REPORT" --metric calls --format csv "$@" "$profile" 2>&1; }

# has WHAT LINE TEXT: one of the lines of TEXT is LINE (a regular expression).
has() { grep -Eqx -- "$2" <<<"$3" || fail "$1: no line $2 in: $3"; }

begin "a b b b c"
same "$PROGRAMS/notes.fentry" abbbc
found=$(view --path a,b,b,c)
has "a is called once" 'step,a,1,[0-9]+,call,0,0,0' "$found"
has "a calls b once" 'step,b,1,[0-9]+,call,0,0,0' "$found"
has "c's count is about right: b's recursion is folded" 'step,c,1,1,call,0,1,0' "$found"
has "b b stands on the way to c" 'path,.*main → a → b → b → c,1,1,context,0,0,0' "$found"
found=$(view --cliques)
has "b calls itself once a call, three deep" \
  '[0-9]+,clique,b\*,single,1,[0-9]+,[0-9]+,1,[0-9]+,1,2,3,1' "$found"
found=$("$REPORT" --metric calls --width 100 --hot "$profile")
has "the path is told in short, to where most of it stays" 'main → a → b\*' "$found"

begin "mutual recursion from either side"
same "$PROGRAMS/notes.fentry" mutual
found=$(view --cliques)
has "ping and pong are one" \
  '[0-9]+,clique,"\(p[io]ng, p[io]ng\)\*",mutual,2,16,16,0,16,2,14,[0-9]+,1' "$found"
found=$(view --cliques=context)
has "calls inside a clique cost nothing of their own" '.*,ping,pong,7,0,inside' "$found"

begin "deep recursion"
same "$PROGRAMS/notes.fentry" deep 100000
has "its depth follows from its counts" '.*,clique,deep\*,single,1,.*,1,99999,100000,1' "$(view --cliques)"

begin "queries"
same "$PROGRAMS/notes.fentry" mutual
kept() { "$REPORT" --metric calls --format json --self --keep "$1" "$profile" | grep -o '"kept":[0-9]*'; }
check "a path with a gap" "$(kept 'at(pong) and path(ping .. pong)')" = '"kept":5'
check "all but a function's" "$(kept 'not at(ping or pong)')" = '"kept":1'
check "thresholds" "$(kept 'at(p?ng) and calls > 7')" = '"kept":16'
output=$("$REPORT" --keep '(ping' "$profile" 2>&1)
check "a mistake is an error" $? = 2
check "of one clear line" "$output" = 'query: at character 1: "(" is never closed: add a ")"'
for view in --self --edges --hot --overview --cliques '--path=ping,pong'; do
  output=$("$REPORT" --metric calls "$view" --keep 'at(ping)' "$profile" 2>&1)
  grep -Eq 'kept about 10 of 17 calls' <<<"$output" || fail "$view does not say what it kept: $output"
done

begin "the overview fits a screen"
same "$PROGRAMS/notes.fentry" mutual
output=$("$REPORT" --overview --width 80 "$profile")
check "lines" "$(wc -l <<<"$output")" -le 24
check "columns" "$(wc -L <<<"$output")" -le 80

begin "symbol tables are kept by build-id"
profiled "$PROGRAMS/maze.fentry" 200
"$REPORT" --self --format csv "$profile" >"$dir/first"
check "a large table is there" -n "$(find "$XDG_CACHE_HOME/fbleprof" -name '*.symbols' 2>/dev/null)"
"$REPORT" --self --format csv "$profile" >"$dir/second"
cmp -s "$dir/first" "$dir/second" || fail "names out of the cache differ"
find "$XDG_CACHE_HOME" -name '*.symbols' -exec truncate -s 100 {} +
"$REPORT" --self --format csv "$profile" >"$dir/third"
cmp -s "$dir/first" "$dir/third" || fail "a damaged cache is not made anew"

begin "mistakes are one clear line"
same "$PROGRAMS/notes.fentry" abbbc
mkdir "$dir/folder"
: >"$dir/empty"
head -c 3000 /dev/zero >"$dir/zeros"
mkfifo "$dir/pipe"
while read -r -a arguments; do
  (cd "$dir" && timeout 20 "$REPORT" "${arguments[@]}" >"$dir/out" 2>"$dir/err")
  check "status of ${arguments[*]}" $? = 2
  check "lines for ${arguments[*]}" "$(wc -l <"$dir/err")" = 1
  check "output of ${arguments[*]}" ! -s "$dir/out"
done <<'END'
empty
folder
zeros
pipe
nowhere
/dev/null
--frobnicate
--top -3 mlmon.out
--top 0 mlmon.out
--depth=-1 mlmon.out
--min 101 mlmon.out
--block nosuch mlmon.out
--path a,nosuch mlmon.out
--path , mlmon.out
--block re:( mlmon.out
--coverage=nosuch mlmon.out
--coverage --select a mlmon.out
--annotate nosuch mlmon.out
--metric nosuch mlmon.out
--export nosuch mlmon.out
--self --block a mlmon.out
--tolerant empty zeros
--tolerant --verify empty zeros
--diff empty mlmon.out
--fail-if +5% mlmon.out
--self -o folder mlmon.out
END

begin "a run of next to no samples"
settings=(FBLEPROF_RATE=1)
same "$PROGRAMS/notes.fentry" abbbc
"$REPORT" --self "$profile" | has_text "too few samples" || fail "--self does not say it"

begin "what cannot be written"
same "$PROGRAMS/notes.fentry" abbbc
# A device of our own that is always full: it must still exist afterwards.
if mknod -m 600 "$dir/full" c 1 7 2>/dev/null && [ -w "$dir/full" ] && ! echo x 2>/dev/null >"$dir/full"; then
  "$REPORT" --self -o "$dir/full" "$profile" 2>"$dir/err"
  check "status" $? = 2
  check "one line" "$(wc -l <"$dir/err")" = 1
  check "the device stays" -c "$dir/full"
else
  skip "no devices can be made here"
fi

begin "an import says nothing of what it does not know"
printf 'main;<script>alert(1)</script>;\xe2\x80\xaeevil 5\nmain;plain 3\n' >"$dir/folded"
check "lines above the tree" "$("$REPORT" "$dir/folded" | sed -n 2p)" = ''
"$REPORT" "$dir/folded" | has_text '\\u202eevil' || fail "names are not escaped"
check "tags of names in the page" "$("$REPORT" --export html "$dir/folded" | grep -c '<script>alert')" = 0
