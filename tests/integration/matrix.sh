#!/bin/bash
# The quick part of the comparison with plain runs; scripts/matrix runs all of it.
set -u
: "${LIB:?path of libfbleprof.so}" "${PROGRAMS:?directory of the test programs}" "${SOURCE:?}"
exec "$SOURCE/scripts/matrix" --quick --modes fentry,plain
