#!/bin/bash
# Static functions of one name in several files, and the parts and clones that the compiler makes of
# them, are told apart by the symbol table, whatever functions a profile holds.
. "$(dirname "$0")/lib.sh"

sources() { # MAIN A B: the code of three files
  mkdir -p "$dir"
  printf 'volatile unsigned x; void a(long), b(long);\n%s\n' "$1" >"$dir/m.c"
  printf 'extern volatile unsigned x;\n%s\n' "$2" >"$dir/a.c"
  printf 'extern volatile unsigned x;\n%s\n' "$3" >"$dir/b.c"
}
parse() { # NAME FACTOR: calls are not inlined, and arguments stay
  printf '__attribute__((noipa)) static void parse(long n) { for (long i = 0; i < n; ++i) x += i * %s; }\n' "$2"
  printf '__attribute__((noipa)) void %s(long n) { parse(n); }\n' "$1"
}
both_parse() { sources "$1" "$(parse a 3)" "$(parse b 5)"; }
build() { # PROGRAM OPTIONS...
  gcc -O2 "${@:2}" "$dir/m.c" "$dir/a.c" "$dir/b.c" -o "$dir/$1" || fail "cannot build $1"
}
record() { # PROGRAM PROFILE ARGS...
  (cd "$dir" && "$FBLE_PROF" -o "$dir/$2" "./$1" "${@:3}") >/dev/null 2>&1 || fail "cannot record $1"
}
self() { "$REPORT" "$@" --self --format csv; }

begin times of a namesake
both_parse 'int main() { for (int i = 0; i < 3; ++i) a(100); b(300000000); }'
build hooked -pg -mfentry -g
build sampled -g
record hooked hooked.out
record sampled sampled.out
# b has the time: the sampled run never saw parse of a.c.
self "$dir/hooked.out" --times-from "$dir/sampled.out" --lines >"$dir/table"
has_text '^parse,[1-9].*/b\.c,' "$dir/table" || fail 'parse of b.c has no time'
check 'parse of a.c has no time' "$(grep -c '^parse,[1-9].*/a\.c,' "$dir/table")" = 0

begin a new namesake
both_parse 'int main(int argc, char** argv) { if (argc > 1) a(300000000); b(300000000); }'
build p -g
record p v1.out
sed -i 's/argc > 1/argc/' "$dir/m.c"
mkdir "$dir/new"
build new/p -g
record new/p v2.out
"$REPORT" --diff "$dir/v1.out" "$dir/v2.out" --self --lines --all >"$dir/table"
check 'parse of b.c is in both' "$(grep 'parse.*b\.c:' "$dir/table" | grep -c new)" = 0
check 'parse of a.c is new' "$(grep 'parse.*a\.c:' "$dir/table" | grep -c new)" = 1

# Without symbol tables, nobody knows which one of two is the older build's.
"$REPORT" --pack "$dir/v1.out" -o "$dir/packed1.out" || fail 'cannot pack'
"$REPORT" --pack "$dir/v2.out" -o "$dir/packed2.out" || fail 'cannot pack'
rm "$dir/p" "$dir/new/p"
export XDG_CACHE_HOME=$dir/no_cache
"$REPORT" --diff "$dir/packed1.out" "$dir/packed2.out" --self --all >"$dir/table" 2>"$dir/err"
check 'all are told apart' "$(grep -c 'parse' "$dir/table")" = 3
check 'the report says why' "$(grep -c '^.*p: no symbol table tells .*: parse$' "$dir/err")" = 1
check 'one profile needs no remark' \
  "$("$REPORT" --self "$dir/packed2.out" 2>&1 | grep -c 'no symbol table')" = 0
export XDG_CACHE_HOME=$work/cache

begin clones
clone='__attribute__((noinline)) static void parse(long n, int m) { for (long i = 0; i < n; ++i) x += i * m; }'
sources 'int main() { for (int i = 0; i < 3; ++i) a(100); b(300000000); }' \
  "$clone
void a(long n) { parse(n, (int)n); }" \
  "$clone
__attribute__((noinline)) void b(long n) { parse(n, 7); }"
build p -pg -mfentry -g
nm "$dir/p" | grep -q ' parse.constprop.0$' || skip 'the compiler makes no clone'
record p p.out
check 'they are two functions' "$(self "$dir/p.out" | grep -c '^parse')" = 2
sed -i 's/b(300000000)/x += 1/' "$dir/m.c"
build q -pg -mfentry -g
record q q.out
check 'the clone of b.c was not entered' \
  "$("$REPORT" --coverage --format csv "$dir/q.out" | grep -c '^parse,.*/b\.c,.*,0$')" = 1
