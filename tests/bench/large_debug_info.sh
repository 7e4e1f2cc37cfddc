#!/bin/bash
# large_debug_info.sh REPORT FBLE_PROF DIRECTORY [COPIES]: the cost of a report of a program with
# much debug info, the first and the second time. Makes the program (2.2 GB with 130 copies, in two
# minutes; needs lld): one piece of templates, and copies of it that the linker cannot merge.
set -eu
report=$1 fble_prof=$2 copies=${4:-130}
cd "$3"
python3 - <<'END'
with open("piece.cc", "w") as file:
    file.write("""#include <algorithm>
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>
template <int N> struct Key {
  int value;
  char pad[N % 13 + 1];
  bool operator<(const Key& other) const { return value < other.value; }
  bool operator==(const Key& other) const { return value == other.value; }
};
template <int N> struct Hash {
  std::size_t operator()(const Key<N>& key) const { return key.value * 31u; }
};
template <int N> int work(int count) {
  std::vector<Key<N>> keys;
  std::map<Key<N>, std::string> names;
  std::unordered_map<Key<N>, std::vector<int>, Hash<N>> buckets;
  for (int i = 0; i < count; ++i) {
    const Key<N> key{((i * 1103515245 + N) >> 3) & 1023, {}};
    keys.push_back(key);
    names[key] += 'x';
    buckets[key].push_back(i);
  }
  std::sort(keys.begin(), keys.end());
  int sum = 0;
  for (const auto& key : keys) sum += key.value ^ int(names[key].size() ^ buckets[key].size());
  return sum;
}
extern "C" int entry(int count) {
  int sum = 0;
""" + "".join(f"  sum += work<{n}>(count);\n" for n in range(60)) + "  return sum;\n}\n")
END
g++ -O2 -g -c piece.cc
ld -r --force-group-allocation piece.o -o whole.o
{
  for ((i = 0; i < copies; i++)); do
    objcopy --keep-global-symbol="entry_$i" --redefine-sym entry="entry_$i" whole.o "copy_$i.o"
    echo "extern \"C\" int entry_$i(int);"
  done
  echo "int main() { int sum = 0;"
  for ((i = 0; i < copies; i++)); do echo "  sum += entry_$i(2000);"; done
  echo "  return sum == 1; }"
} >main.cc
g++ -g main.cc copy_*.o -fuse-ld=lld -Wl,-O0 -Wl,--build-id -o large
rm copy_*.o
"$fble_prof" -o large.out --leaves ./large || exit 1
export XDG_CACHE_HOME=$PWD/cache
rm -rf cache
for options in "--self" "--self --lines" "--self --lines" "--self --inlines" "--self --inlines"; do
  echo "$options"
  # shellcheck disable=SC2086  # several options
  /usr/bin/time -f "  %e s, %U + %S s CPU, %M KiB" "$report" $options large.out >/dev/null
done
