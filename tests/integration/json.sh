#!/bin/bash
# docs/JSON.md and the views' JSON have the same fields.
. "$(dirname "$0")/lib.sh"
: "${SOURCE:?path of the sources}"
page=$SOURCE/docs/JSON.md

# documented SECTION VARIANT ARGS...
covered=
documented() {
  local section=$1 variant=$2 output
  shift 2
  covered+="$section, "
  output=$("$REPORT" --format json "$@" | python3 "$here/json_keys.py" "$page" "$section" "$variant" 2>&1) ||
    fail "$section: $(tail -n 3 <<<"$output")"
  [ -z "$output" ] || fail "$section: $output"
}

begin "fields are as documented"
settings=(FBLEPROF_LEAVES=1 FBLEPROF_CALLSITES=1 FBLEPROF_RATE=1000)
same "$PROGRAMS/notes.fentry" mutual
cp "$profile" "$work/recursion"
profiled "$PROGRAMS/sites.fentry" 20000
cp "$profile" "$work/sites"
profiled "$PROGRAMS/notes.fentry" abbbc
cp "$profile" "$work/other"
settings=("LD_PRELOAD=$LIB:$(dirname "$LIB")/libfbleprof_alloc.so" FBLEPROF_ALLOCS=exact)
profiled "$PROGRAMS/allocates.fentry" containers
cp "$profile" "$work/allocates"
settings=("LD_PRELOAD=$(dirname "$LIB")/libfbleprof_wait.so:$LIB" FBLEPROF_WAITS=1)
profiled "$PROGRAMS/waits.fentry" locks
cp "$profile" "$work/waits"
profiled "$PROGRAMS/wakes.fentry"
cp "$profile" "$work/wakes"
"$FBLE_PROF" --exact --out "$work/exact" "$PROGRAMS/exact_entries.plain" >"$dir/exact.out"
documented self "" --self "$work/sites"
documented dominated "" --dominated "$work/sites"
documented tree "" "$work/recursion"
documented edges "" --edges "$work/sites"
documented call-sites "" --call-sites "$work/sites"
documented coverage "" --coverage "$work/sites" "$work/exact"
documented block "" --block main "$work/recursion"
documented path "" --path main "$work/recursion"
documented hot "" --hot "$work/sites"
documented overview "" --overview "$work/sites"
documented metrics "" --metrics "$work/sites"
documented cliques "" --cliques "$work/recursion"
documented cliques-context "" --cliques=context "$work/recursion"
for what in module file namespace class thread process host rank; do
  documented "by-$what" "" --by "$what" "$work/sites"
done
documented by-label:KEY "" --by label:KEY "$work/sites"
documented diff-tree "" --diff "$work/other" "$work/recursion"
documented diff-self "" --self --diff "$work/other" "$work/recursion"
documented diff-dominated "" --dominated --diff "$work/other" "$work/recursion"
documented allocations "" --allocations "$work/allocates"
documented waits "" --waits "$work/waits" "$work/wakes"
documented summary "one profile" --summary "$work/sites"
documented summary "several" --summary "$work/sites" "$work/other"
documented threads "" --threads "$work/sites"
documented windows "" --windows "$work/allocates"
documented verify "" --verify "$work/sites" "$work/other"

begin "annotated"
settings=(FBLEPROF_LEAVES=1 FBLEPROF_RATE=1000)
profiled "$PROGRAMS/sites.fentry" 20000
hottest=$("$REPORT" --self --format csv --top 1 "$profile" | tail -n 1 | cut -d, -f1)
# Fields that a profile need not have: calls into code without hooks.
for how in "" source asm; do
  covered+="annotate, "
  output=$("$REPORT" --format json --annotate "$hottest" ${how:+"--$how"} "$profile" |
    python3 "$here/json_keys.py" "$page" annotate "$how" 2>&1 | grep -v '^no rows: ')
  check "fields of --annotate $how" -z "$output"
done

begin "every section is looked at"
sed -n 's/^## //p' "$page" | grep -v -e '^around' -e '^Exit' | sed 's/, /\n/g' | while read -r section; do
  case ", $covered" in
    *", $section, "*) ;;
    *) fail "$section: no test reads it" ;;
  esac
done

begin "other forms"
check "records are text only" "$("$REPORT" --raw --format json "$work/sites" 2>&1 | wc -l)" = 1
"$REPORT" --raw --format json "$work/sites" >"$dir/out" 2>&1
check "and say so" $? = 2
"$REPORT" --raw -o "$dir/raw" "$work/sites" >"$dir/out" || fail "--raw -o fails"
check "records go where -o says" -s "$dir/raw" -a ! -s "$dir/out"
