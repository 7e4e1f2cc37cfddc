#!/bin/bash
# Where in the source: call sites.
. "$(dirname "$0")/lib.sh"

# line_of COMMENT: the line of the test program with that comment.
line_of() { grep -n "// $1" "$SOURCE/tests/programs/sites.c" | cut -d: -f1; }
# sites FIELD [LINE]: the sum of a column of the calls of work (there). One line of a source may be
# several places of the code: compilers peel and unroll loops.
sites() {
  "$REPORT" --call-sites=work --format csv "$profile" | python3 -c '
import csv, sys
print(sum(int(row[sys.argv[1]]) for row in csv.DictReader(sys.stdin)
          if row["callee"] == "work" and sys.argv[2] in ("", row["line"])))
' "$1" "${2:-}"
}

for mode in fentry mcountc cyg; do
  begin "call sites $mode"
  settings=(FBLEPROF_CALLSITES=1)
  same "$PROGRAMS/sites.$mode" 5000
  verified "$profile"
  for site in 'first site' 'second site' 'inlined site'; do
    check "calls at the $site" "$(sites calls "$(line_of "$site")")" = 5000
    check "the $site is exact" "$(sites first_site_only "$(line_of "$site")")" = 0
  done
  check "all calls" "$(sites calls)" = 20000
  first=$(sites cost "$(line_of 'first site')") second=$(sites cost "$(line_of 'second site')")
  check "the dear site costs more ($first, $second)" "$first" -lt "$second"

  begin "first sites $mode"
  same "$PROGRAMS/sites.$mode" 5000
  check "all calls" "$(sites calls)" = 20000
  check "two sites have none" "$(sites calls "$(line_of 'second site')")" = 0
  text=$("$REPORT" --call-sites "$profile")
  check "and the report says so" "${text/FBLEPROF_CALLSITES=1/}" != "$text"
done
