#!/bin/bash
# `cmake --install` gives a working installation: tools, header, CMake package, pkg-config file.
. "$(dirname "$0")/lib.sh"
: "${BUILD:?build directory of the project}"

begin "install"
prefix=$dir/prefix
cmake --install "$BUILD" --prefix "$prefix" >"$dir/install.log" 2>&1 ||
  { fail "$(tail -n 3 "$dir/install.log")"; exit 1; }
for file in bin/fble-prof bin/fble-prof-report include/fbleprof/fbleprof.h; do
  check "$file is there" -e "$prefix/$file"
done
library=$(find "$prefix" -name libfbleprof.so)
check "the library is there" -e "$library"
pages=$(find "$prefix" -name 'fble-prof*.1*' | wc -l)
check "man pages of both tools ($pages)" "$pages" -ge 2
check "the C API's man page" -n "$(find "$prefix" -name 'fbleprof.3*')"
for page in QUERY JSON EXPORTS ARCHITECTURE FILE_FORMAT; do
  check "$page.md is there" -e "$prefix/share/doc/fbleprof/$page.md"
done
# links_of FILE: the files that a Markdown file's links name.
links_of() { grep -o '](\([^)#]*\)' "$1" | sed 's/^](//' | grep -v '^[a-z]*:' | sort -u; }
for page in "$prefix"/share/doc/fbleprof/*.md; do
  for link in $(links_of "$page"); do
    # The manual is where man finds it.
    case $link in ../preload/* | man/*) continue ;; esac
    check "${page##*/} names a file: $link" -e "$prefix/share/doc/fbleprof/$link"
  done
done
# The installation can be moved: no file in it names the directory where it was built.
mv "$prefix" "$dir/moved"
prefix=$dir/moved

mkdir "$dir/project"
cat >"$dir/project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(outside C CXX)
set(CMAKE_BUILD_TYPE RelWithDebInfo)
find_package(fbleprof REQUIRED)
add_executable(hooked hooked.cc part.c)
fbleprof_instrument(hooked)
add_executable(blocks blocks.c)
target_link_libraries(blocks PRIVATE fbleprof::api)
fbleprof_count_blocks(blocks)
file(GENERATE OUTPUT recorder CONTENT "$<TARGET_FILE:fbleprof::recorder>")
END
cat >"$dir/project/part.c" <<'END'
static volatile int sink;
__attribute__((noinline)) void part(void) { sink = sink + 1; }
END
cat >"$dir/project/hooked.cc" <<'END'
#include <numeric>
#include <vector>
#include <cstdio>
extern "C" void part(void);
extern "C" __attribute__((noinline)) int summed(const std::vector<int>& v) {
  part();
  return std::accumulate(v.begin(), v.end(), 0);
}
int main() {
  std::vector<int> v(1000, 1);
  long sum = 0;
  for (int i = 0; i < 1000; ++i) sum += summed(v);
  std::printf("%ld\nexpect summed part 1000\nexpect main summed 1000\n", sum);
}
END
cat >"$dir/project/blocks.c" <<'END'
#include <fbleprof/fbleprof.h>
#include <stdio.h>
int main(void) {
  fbleprof_block block = fbleprof_block_new("my block", __FILE__, __LINE__);
  for (int i = 0; i < 70; ++i) {
    fbleprof_enter(block);
    fbleprof_leave(block);
  }
  puts("expect * my-block 0");
  return 5;
}
END
project=$dir/project
for compilers in "gcc g++" "clang-14 clang++-14"; do
  read -r cc cxx <<<"$compilers"
  begin "outside project with $cc"
  prefix_path=$work/install/moved
  if ! { cmake -S "$project" -B "$dir/build" -DCMAKE_PREFIX_PATH="$prefix_path" \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" && cmake --build "$dir/build"; } \
    >"$dir/log" 2>&1; then
    fail "$(tail -n 15 "$dir/log")"
    continue
  fi
  installed=$(cat "$dir/build/recorder")
  check "the package names the library" -e "$installed"
  LIB=$installed REPORT=$prefix_path/bin/fble-prof-report
  export LIB REPORT
  same "$dir/build/hooked"
  expected
  same "$dir/build/blocks"
  check "blocks are counted" "$(calls '*' 'my block')" = 70
done

begin "installed tools"
prefix=$work/install/moved
(cd "$dir" && env -u LD_PRELOAD "$prefix/bin/fble-prof" --out "$dir/own.mlmon" \
  "$PROGRAMS/endings.fentry" exit >"$dir/out" 2>"$dir/err")
check "the program's exit status is passed on" $? = 4
verified "$dir/own.mlmon"
"$prefix/bin/fble-prof-report" "$dir/own.mlmon" | has_text counted || fail "no tree"

begin "pkg-config"
pc=$(find "$prefix" -name fbleprof.pc -printf '%h')
export PKG_CONFIG_PATH=$pc
# shellcheck disable=SC2046  # words
gcc $(pkg-config --cflags fbleprof) "$project/blocks.c" -o "$dir/blocks" ||
  fail "pkg-config's flags do not do"
check "it names the library" -e "$(pkg-config --variable=preload fbleprof)"
gcc "$(pkg-config --variable=instrument fbleprof)" -c "$project/part.c" -o "$dir/part.o" ||
  fail "gcc does not take the flag that makes room for hooks"
