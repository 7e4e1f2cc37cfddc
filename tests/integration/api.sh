#!/bin/bash
# The C API: named blocks, tail calls, green threads, ticks; linked in every way, with and without the
# library.
. "$(dirname "$0")/lib.sh"

build() { # COMPILER FLAG...: the program of this case
  "$@" -O2 -g -Wall -Wextra -Werror -I"$SOURCE/libprof/include" "$here/../programs/api.c" \
    -o "$dir/api" || fail "cannot build: $*"
}

for way in "gcc -std=c99 -D_GNU_SOURCE -fPIE -pie" "gcc -fno-pie -no-pie" "gcc -pg -mfentry" \
  "clang-14 -std=c99 -D_GNU_SOURCE" "g++ -x c++"; do
  begin "api, $way"
  # shellcheck disable=SC2086  # words
  build $way
  same "$dir/api"
  expected
done

begin "api, static: nothing to find"
build gcc -static
same "$dir/api"
check "no profile" ! -e "$profile"

begin "api, as a plugin"
gcc -O2 -shared -fPIC -Dmain=run_api -I"$SOURCE/libprof/include" "$here/../programs/api.c" \
  -o "$dir/api.so" || fail "cannot build the plugin"
cat >"$dir/host.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char** argv) {
  void* plugin = dlopen(argv[argc - 1], RTLD_NOW);
  if (!plugin) return puts(dlerror());
  return ((int (*)(void))dlsym(plugin, "run_api"))();
}
END
gcc "$dir/host.c" -o "$dir/host" -ldl
same "$dir/host" "$dir/api.so"
expected

begin "api, switched off at start"
build gcc
settings=(FBLEPROF_START=off)
same "$dir/api"

begin "api, a query of 200,000 contexts"
"${CC:-gcc}" -O2 -g -Wall -Wextra -Werror -I"$SOURCE/libprof/include" "$here/../programs/query_tree.c" \
  -o "$dir/query_tree" || fail "cannot build query_tree.c"
settings=(FBLEPROF_RATE=1)
same "$dir/query_tree"
verified "$profile"
