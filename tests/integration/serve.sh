#!/bin/bash
# --serve: pages, JSON, lists, live programs; and its answers to requests without permission.
. "$(dirname "$0")/lib.sh"

begin "what the server answers"
timeout 200 python3 "$here/serve.py" "$REPORT" "$LIB" "$FBLE_PROF" "$PROGRAMS" "$dir" || fail "see above"

begin "what cannot be served is said in one line"
for bad in "--serve=1.2.3.4.5:1" "--serve=:x" "--serve=127.0.0.1:99999" "--serve --self" \
  "--serve --select a" "--serve $dir/nothing"; do
  # shellcheck disable=SC2086  # words
  "$REPORT" $bad >out 2>err </dev/null
  check "status of $bad" $? = 2
  check "lines about $bad" "$(wc -l <err)" = 1
done
echo 'main;a 1' | tee one.folded >two.folded
for way in stdin pipe base; do
  case $way in
    stdin) timeout 20 "$REPORT" --serve - <one.folded ;;
    pipe) timeout 20 "$REPORT" --serve <(cat one.folded) ;;
    base) timeout 20 "$REPORT" --serve --diff - one.folded <two.folded ;;
  esac >out 2>err
  check "status of what comes through a pipe ($way)" $? = 2
  check "why ($way)" "$(grep -c 'serve reads its files again: name a file' err)" = 1
done
