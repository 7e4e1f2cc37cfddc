#!/bin/bash
# The quick part of the comparison with plain runs; scripts/matrix runs all of it.
set -u
: "${LIB:?path of libfbleprof.so}" "${PROGRAMS:?directory of the test programs}" "${SOURCE:?}"
status=0
"$SOURCE/scripts/matrix" --quick --modes fentry,plain || status=1
# The ways to record code without hooks take longer, so fewer programs.
for case in 'bash -c' 'python3 -c' 'perl -e' 'endings return' 'processes fork'; do
  "$SOURCE/scripts/matrix" --quick --modes system,exact,waits,allocations --only "$case" || status=1
done
exit $status
