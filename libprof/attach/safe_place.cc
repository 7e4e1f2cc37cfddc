#include "attach/safe_place.h"

#include <algorithm>
#include <string>

namespace fbleprof::attach {

namespace {

// Longer stacks are not searched.
constexpr std::uint64_t kMostStack = 1 << 20;

bool is_named(const std::string& path, const std::string& prefix) {
  return path.compare(path.rfind('/') + 1, prefix.size(), prefix) == 0;
}

// Files with locks that a call of dlopen needs: libc, the loader, allocators, and the recorder.
class Locking {
 public:
  Locking(pid_t pid, const std::vector<Mapping>& mappings) : mappings_(mappings) {
    for (const Mapping& each : mappings) {
      if (!each.is_code || !each.path.starts_with('/') || is_known(each.path)) continue;
      const bool is_libc = is_named(each.path, "libc.so") || is_named(each.path, "libc-") ||
                           is_named(each.path, "ld-") || is_named(each.path, "libpthread") ||
                           is_named(each.path, "libfbleprof");
      if (is_libc ||
          find_function(mappings, each.path, path_from_outside(pid, each.path), "malloc") != 0) {
        files_.push_back(each.path);
      }
    }
  }

  bool contains(std::uint64_t address) const {
    return std::any_of(mappings_.begin(), mappings_.end(), [&](const Mapping& each) {
      return each.is_code && address >= each.begin && address < each.end && is_known(each.path);
    });
  }

 private:
  bool is_known(const std::string& path) const {
    return std::find(files_.begin(), files_.end(), path) != files_.end();
  }

  const std::vector<Mapping>& mappings_;
  std::vector<std::string> files_;
};

// libc's function that starts a program. It is on the stack of each main thread, and holds no lock.
bool starts_program(pid_t pid, const std::vector<Mapping>& mappings, std::uint64_t address) {
  constexpr std::uint64_t kBefore = 0x400, kBehind = 0x200;  // with its static helper
  const Mapping* libc = find_file(mappings, "libc.so.6");
  if (!libc) return false;
  const std::uint64_t start =
      find_function(mappings, libc->path, path_from_outside(pid, libc->path), "__libc_start_main");
  return start != 0 && address + kBefore >= start && address < start + kBehind;
}

}  // namespace

bool is_outside_of_libc(pid_t pid, pid_t tid, const Tracee& thread,
                        const std::vector<Mapping>& mappings) {
  const Locking locking(pid, mappings);
  const std::uint64_t sp = arch::sp_of(thread.registers());
  if (locking.contains(arch::pc_of(thread.registers()))) return false;
  const auto stack = std::find_if(mappings.begin(), mappings.end(), [&](const Mapping& each) {
    return sp >= each.begin && sp < each.end;
  });
  if (stack == mappings.end() || stack->end - sp > kMostStack) return false;
  std::vector<std::uint64_t> words((stack->end - sp) / sizeof(std::uint64_t));
  if (!thread.read(sp, words.data(), words.size() * sizeof words[0])) return false;
  std::vector<std::uint64_t> found;
  for (const std::uint64_t word : words) {
    std::uint8_t before[arch::kLongestCall];
    if (locking.contains(word) && thread.read(word - sizeof before, before, sizeof before) &&
        arch::ends_with_call(before)) {
      found.push_back(word);
    }
  }
  // The outermost two frames of any other thread are those with which libc starts a thread.
  constexpr std::size_t kOfThreadStart = 2;
  if (tid != pid) return found.size() <= kOfThreadStart;
  return std::all_of(found.begin(), found.end(),
                     [&](std::uint64_t word) { return starts_program(pid, mappings, word); });
}

}  // namespace fbleprof::attach
