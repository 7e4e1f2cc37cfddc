#include "attach/safe_place.h"

#include <algorithm>
#include <filesystem>
#include <string>

#include "attach/outside_walk.h"

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
                           is_named(each.path, "libpthread");
      const bool is_other = is_named(each.path, "ld-") || is_named(each.path, "libfbleprof");
      if (is_libc || is_other ||
          find_function(mappings, each.path, path_from_outside(pid, each.path), "malloc") != 0) {
        files_.push_back(each.path);
        if (is_libc) libc_.push_back(each.path);
      }
    }
    const std::string program = mapped_program(pid);
    own_allocator_ = is_known(program) ? program : std::string();
  }

  bool contains(std::uint64_t address) const { return is_in(address, files_); }
  bool is_libc(std::uint64_t address) const { return is_in(address, libc_); }
  // A program that defines malloc itself: its other functions cannot be told from its allocator's.
  bool is_program_with_allocator(std::uint64_t address) const {
    return !own_allocator_.empty() && is_in(address, {own_allocator_});
  }

 private:
  bool is_known(const std::string& path) const {
    return std::find(files_.begin(), files_.end(), path) != files_.end();
  }
  bool is_in(std::uint64_t address, const std::vector<std::string>& files) const {
    return std::any_of(mappings_.begin(), mappings_.end(), [&](const Mapping& each) {
      return each.is_code && address >= each.begin && address < each.end &&
             std::find(files.begin(), files.end(), each.path) != files.end();
    });
  }
  static std::string mapped_program(pid_t pid) {
    std::error_code failure;
    return std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/exe", failure).string();
  }

  const std::vector<Mapping>& mappings_;
  std::vector<std::string> files_, libc_;
  std::string own_allocator_;
};

// The walked frames, without those with which libc starts a program or a thread: the outermost
// ones, and one of the program's own (_start).
std::vector<std::uint64_t> without_start(std::vector<std::uint64_t> frames,
                                         const Locking& locking) {
  constexpr int kOfStart = 2;
  if (!frames.empty() && !locking.is_libc(frames.back())) frames.pop_back();
  for (int i = 0; i < kOfStart && !frames.empty() && locking.is_libc(frames.back()); ++i) {
    frames.pop_back();
  }
  return frames;
}

// libc's function that starts a program. It is on the stack of each main thread, and holds no lock.
bool starts_program(pid_t pid, const std::vector<Mapping>& mappings, std::uint64_t address) {
  constexpr std::uint64_t kBefore = 0x400, kBehind = 0x200;  // with its static helper
  const Mapping* libc = find_file(mappings, "libc.so.6");
  if (!libc) return false;
  const std::uint64_t start =
      find_function(mappings, libc->path, path_from_outside(pid, libc->path), "__libc_start_main");
  return start != 0 && address + kBefore >= start && address < start + kBehind;
}

// For stacks that the walk cannot follow (generated code): as is_outside, but old return addresses
// that are no longer used can make the answer no.
bool seems_outside(pid_t pid, pid_t tid, const Tracee& thread, const std::vector<Mapping>& mappings,
                   const Locking& locking) {
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

}  // namespace

bool holds_no_lock(pid_t pid, pid_t tid, const Tracee& thread, const std::vector<Mapping>& mappings,
                   StoppedIn where) {
  const Locking locking(pid, mappings);
  const OutsideWalk walk = walk_from_outside(pid, thread, mappings);
  if (!walk.is_complete && where == StoppedIn::kCode) {
    return seems_outside(pid, tid, thread, mappings, locking);
  }
  const std::vector<std::uint64_t> frames =
      walk.is_complete ? without_start(walk.frames, locking) : walk.frames;
  auto at = frames.begin();
  if (where == StoppedIn::kQuietCall) {
    // libc's function for the call, and those around it.
    at = std::find_if(at, frames.end(), [&](std::uint64_t pc) { return !locking.is_libc(pc); });
  }
  return std::none_of(at, frames.end(), [&](std::uint64_t pc) {
    const bool may_be_other =
        where == StoppedIn::kQuietCall && locking.is_program_with_allocator(pc);
    return locking.contains(pc) && !may_be_other;
  });
}

}  // namespace fbleprof::attach
