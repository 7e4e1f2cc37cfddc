#include "attach/safe_place.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>

#include "arch/call_instruction.h"
#include "attach/outside_walk.h"

namespace fbleprof::attach {

namespace {

// The frames of pthread_mutex_lock, or of the loader's use of it, that waits.
constexpr int kOfMutex = 2;

// Longer stacks are not searched.
constexpr std::uint64_t kMostStack = 1 << 20;

bool is_named(const std::string& path, const std::string& prefix) {
  return path.compare(path.rfind('/') + 1, prefix.size(), prefix) == 0;
}

std::string mapped_program(pid_t pid) {
  std::error_code failure;
  return std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/exe", failure).string();
}

// A file that cannot be read may have been replaced or deleted since the program mapped it.
bool may_have_allocator(pid_t pid, const std::vector<Mapping>& mappings, const Mapping& code) {
  const std::string file = mapped_file_from_outside(pid, code);
  if (access(file.c_str(), R_OK) == 0) {
    return find_function(mappings, code.path, file, "malloc") != 0;
  }
  const Mapping* object = object_with(mappings, code);
  return object && may_export(pid, object->begin, "malloc");
}

}  // namespace

SafePlaces::SafePlaces(pid_t pid, const std::vector<Mapping>& mappings)
    : pid_(pid), mappings_(mappings) {
  for (const Mapping& each : mappings) {
    if (!each.is_code || !each.path.starts_with('/') || is_known(each.path)) continue;
    const bool is_libc = is_named(each.path, "libc.so") || is_named(each.path, "libc-") ||
                         is_named(each.path, "libpthread");
    const bool is_loader = is_named(each.path, "ld-");
    const bool is_other = is_loader || is_named(each.path, "libfbleprof");
    if (is_libc || is_other || may_have_allocator(pid, mappings, each)) {
      files_.push_back(each.path);
      if (is_libc) libc_.push_back(each.path);
      if (is_loader) loader_.push_back(each.path);
    }
  }
  const std::string program = mapped_program(pid);
  own_allocator_ = is_known(program) ? program : std::string();
  if (const Mapping* libc = find_file(mappings, "libc.so.6")) {
    const std::string file = mapped_file_from_outside(pid, *libc);
    start_ = find_function(mappings, libc->path, file, "__libc_start_main");
    for (const char* name : {"setuid", "setgid", "seteuid", "setegid", "setreuid", "setregid",
                             "setresuid", "setresgid", "setgroups", "initgroups"}) {
      const std::uint64_t at = find_function(mappings, libc->path, file, name);
      if (at != 0) changes_of_user_.push_back(at);
    }
  }
}

bool SafePlaces::is_known(const std::string& path) const {
  return std::find(files_.begin(), files_.end(), path) != files_.end();
}

bool SafePlaces::is_in(std::uint64_t address, const std::vector<std::string>& files) const {
  const Mapping* code = mapping_at(mappings_, address);
  return code && code->is_code && std::find(files.begin(), files.end(), code->path) != files.end();
}

// The walked frames, without those with which libc starts a program or a thread: the outermost
// ones, and one of the program's own (_start).
std::vector<std::uint64_t> SafePlaces::without_start(std::vector<std::uint64_t> frames) const {
  constexpr int kOfStart = 2;
  if (!frames.empty() && !is_libc(frames.back())) frames.pop_back();
  for (int i = 0; i < kOfStart && !frames.empty() && is_libc(frames.back()); ++i) {
    frames.pop_back();
  }
  return frames;
}

// Libc's function that starts a program is on the stack of each main thread, and holds no lock.
bool SafePlaces::starts_program(std::uint64_t address) const {
  constexpr std::uint64_t kBefore = 0x400, kBehind = 0x200;  // with its static helper
  return start_ != 0 && address + kBefore >= start_ && address < start_ + kBehind;
}

// The longest of these functions has some 250 bytes.
bool SafePlaces::is_in_change_of_user(std::uint64_t address) const {
  constexpr std::uint64_t kMost = 0x200;
  return std::any_of(changes_of_user_.begin(), changes_of_user_.end(),
                     [&](std::uint64_t begin) { return address - begin < kMost; });
}

// For stacks that the walk cannot follow (generated code): as is_outside, but old return addresses
// that are no longer used can make the answer no.
bool SafePlaces::seems_outside(const Tracee& thread) const {
  const std::uint64_t sp = arch::sp_of(thread.registers());
  if (may_hold_lock(arch::pc_of(thread.registers()))) return false;
  const Mapping* stack = mapping_at(mappings_, sp);
  if (!stack || stack->end - sp > kMostStack) return false;
  std::vector<std::uint64_t> words((stack->end - sp) / sizeof(std::uint64_t));
  if (!thread.read(sp, words.data(), words.size() * sizeof words[0])) return false;
  std::vector<std::uint64_t> found;
  for (const std::uint64_t word : words) {
    std::uint8_t before[arch::kLongestCall];
    if (may_hold_lock(word) && thread.read(word - sizeof before, before, sizeof before) &&
        arch::is_call_at_end(before)) {
      found.push_back(word);
    }
  }
  // The outermost two frames of any other thread are those with which libc starts a thread.
  constexpr std::size_t kOfThreadStart = 2;
  if (thread.tid() != pid_) return found.size() <= kOfThreadStart;
  return std::all_of(found.begin(), found.end(),
                     [&](std::uint64_t word) { return starts_program(word); });
}

bool SafePlaces::holds_no_lock(const Tracee& thread, StoppedIn where) const {
  const OutsideWalk walk = walk_from_outside(pid_, thread, thread.registers(), mappings_);
  if (!walk.is_complete && where == StoppedIn::kCode) return seems_outside(thread);
  const std::vector<std::uint64_t> frames =
      walk.is_complete ? without_start(walk.frames) : walk.frames;
  auto at = frames.begin();
  if (where == StoppedIn::kQuietCall) {
    // libc's function for the call, and those around it.
    at = std::find_if(at, frames.end(), [&](std::uint64_t pc) { return !is_libc(pc); });
    // fork waits for one allocator's lock after the other, and holds those that it has.
    if (arch::waits_for_lock(thread.registers()) && at - frames.begin() > kOfMutex) return false;
    if (std::any_of(frames.begin(), at, [&](auto pc) { return is_in_change_of_user(pc); })) {
      return false;
    }
  }
  return std::none_of(at, frames.end(), [&](std::uint64_t pc) {
    const bool may_be_other = where == StoppedIn::kQuietCall && is_program_with_allocator(pc);
    return may_hold_lock(pc) && !may_be_other;
  });
}

bool SafePlaces::waits_for_loader(const Tracee& thread, const arch::TracedRegisters& at) const {
  // Up to libc's dlopen. The loader is entered once: deeper in it, its function has the lock.
  constexpr std::size_t kOfDlopen = 8;
  if (!arch::waits_for_lock(at)) return false;
  std::vector<std::uint64_t> frames = walk_from_outside(pid_, thread, at, mappings_).frames;
  if (frames.size() < kOfDlopen) return false;
  frames.resize(kOfDlopen);
  const auto is_loader = [&](std::uint64_t pc) { return this->is_loader(pc); };
  const auto first = std::find_if(frames.begin(), frames.end(), is_loader);
  return first != frames.end() && first - frames.begin() <= kOfMutex &&
         std::count_if(frames.begin(), frames.end(), is_loader) == 1;
}

}  // namespace fbleprof::attach
