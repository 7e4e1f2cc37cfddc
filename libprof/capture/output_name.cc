#include "capture/output_name.h"

#include <errno.h>
#include <linux/fs.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/utsname.h>

#include <atomic>

#include "capture/clock.h"
#include "capture/process_facts.h"
#include "capture/program_path.h"

namespace fbleprof::capture {

using arch::kernel_call;
using arch::kernel_failed;

namespace {

void add_program_name(Path& path) {
  const char* target = program_path();
  const char* name = target;
  for (const char* at = target; *at; ++at) {
    if (*at == '/') name = at + 1;
  }
  path.add(*name ? name : "unknown");
}

// In another root, or with fewer rights, it may not be.
bool is_writable(const Path& directory) {
  return directory.c_str()[0] == '/' && can_access(directory.c_str(), W_OK | X_OK);
}

Path expand(const Settings& settings, bool* names_process) {
  Path path;
  *names_process = false;
  const bool is_relative = settings.out.c_str()[0] != '/';
  if (is_relative && is_writable(settings.directory)) {
    path.add(settings.directory.c_str()).add('/');
  } else if (is_relative) {
    char directory[4096];
    const long got =
        arch::kernel_call(SYS_getcwd, reinterpret_cast<long>(directory), sizeof directory);
    if (got > 0) path.add(directory).add('/');
  }
  for (const char* at = settings.out.c_str(); *at; ++at) {
    if (*at != '%') {
      path.add(*at);
      continue;
    }
    switch (*++at) {
      case 'p':
        path.add_number(own_pid());
        *names_process = true;
        break;
      case 'e':
        add_program_name(path);
        break;
      case 'h': {
        utsname host{};
        arch::kernel_call(SYS_uname, reinterpret_cast<long>(&host));
        path.add(host.nodename);
        break;
      }
      case 't':
        path.add_number(clock_ns(CLOCK_REALTIME) / 1'000'000'000u);
        break;
      case 'r':
        path.add(settings.mpi_rank.empty() ? "0" : settings.mpi_rank.c_str());
        break;
      case '%':
        path.add('%');
        break;
      case 0:
        --at;
        path.add('%');
        break;
      default:
        path.add('%').add(*at);
        break;
    }
  }
  return path;
}

constexpr int kLookFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

// A plain file that belongs to this user alone.
bool is_ours_alone(const File& file, struct stat* status) {
  return file.read_status(status) && S_ISREG(status->st_mode) && status->st_nlink == 1 &&
         status->st_uid == static_cast<uid_t>(kernel_call(SYS_geteuid));
}

bool has_magic(const format::Header& header) {
  for (int i = 0; i < 8; ++i) {
    if (header.magic[i] != format::kMagic[i]) return false;
  }
  return true;
}

// Whether a process has the file open for writing, or mapped: then its writer is alive, in
// whichever pid namespace. The kernel gives a lease only on a file that nobody writes. Some file
// systems have no leases.
bool may_be_written(const File& file) {
  constexpr int kSetSignal = 10, kSetLease = 1024;
  // If another process opens the file while we have the lease, the kernel sends us a signal: choose
  // a harmless one.
  kernel_call(SYS_fcntl, file.fd(), kSetSignal, SIGURG);
  if (kernel_failed(kernel_call(SYS_fcntl, file.fd(), kSetLease, F_RDLCK))) return true;
  kernel_call(SYS_fcntl, file.fd(), kSetLease, F_UNLCK);
  return false;
}

// kTaken: the file belongs to a live process, or to one of this run that has ended. kTrivial: to
// this process, which ran nothing of note before its exec.
enum class Occupant { kNone, kTaken, kFinished, kTrivial, kRefused };

Occupant occupant_of(const File& file, const format::Header& header, std::uint64_t run_start_ns) {
  const Occupant ended = run_start_ns != 0 && header.start_realtime_ns >= run_start_ns
                             ? Occupant::kTaken
                             : Occupant::kFinished;
  if (header.state != format::State::kLive && header.state != format::State::kStarting &&
      header.state != format::State::kExeced) {
    return ended;
  }
  // The kernel does not answer questions about a process in another pid namespace.
  if (header.pid_namespace != pid_namespace()) {
    return may_be_written(file) ? Occupant::kTaken : ended;
  }
  const std::uint64_t start = process_start_ticks(header.pid);
  // The process of an earlier run may have had our pid: in a container, the same one each time.
  // Both starts are 0 where there is no /proc.
  if (header.pid == own_pid() && start == header.process_start_ticks &&
      header.state == format::State::kExeced && (header.flags & format::kHeaderTrivial)) {
    return Occupant::kTrivial;
  }
  return start != 0 && start == header.process_start_ticks ? Occupant::kTaken : ended;
}

// Examines the file at the path. `run_start_ns`: profiles that began later belong to this run; 0:
// unknown.
Occupant examine(const Path& path, std::uint64_t run_start_ns, File& file, FileIdentity& identity,
                 Text<512>& failure) {
  file = File(path.c_str(), kLookFlags);
  if (!file) {
    if (file.error() == ENOENT) return Occupant::kNone;
    failure.add(path.c_str())
        .add(file.error() == ELOOP ? ": is a symbolic link, which is not followed: remove it or "
                                     "set FBLEPROF_OUT"
                                   : ": cannot be opened: set FBLEPROF_OUT to a place that can");
    return Occupant::kRefused;
  }
  struct stat status {};
  if (!is_ours_alone(file, &status)) {
    failure.add(path.c_str()).add(": is not a plain file of this user's alone: set FBLEPROF_OUT");
    return Occupant::kRefused;
  }
  identity = FileIdentity::of(status);
  format::Header header{};
  const long got = file.read(0, &header, sizeof header);
  if (got == 0) return Occupant::kFinished;
  if (got < 8 || !has_magic(header)) {
    failure.add(path.c_str()).add(": is not a profile and is left alone: set FBLEPROF_OUT");
    return Occupant::kRefused;
  }
  return occupant_of(file, header, run_start_ns);
}

// Whether an old profile may replace the file at the path: a profile, or nothing.
bool may_be_replaced(const Path& path) {
  const File file(path.c_str(), kLookFlags);
  if (!file) return file.error() == ENOENT;
  struct stat status {};
  format::Header header{};
  if (!is_ours_alone(file, &status)) return false;
  const long got = file.read(0, &header, sizeof header);
  return got == 0 || (got >= 8 && has_magic(header));
}

// Renames the old profile `file` to .old, if the path still leads to it: another process may have
// renamed it already. False, with a reason, if that fails.
bool move_aside(const Path& path, const File& file, const FileIdentity& identity,
                Text<512>& failure) {
  // Best effort: not all file systems have locks. The lock ends with the descriptor.
  for (int tries = 0; tries < 200; ++tries) {
    if (kernel_call(SYS_flock, file.fd(), LOCK_EX | LOCK_NB) != -EWOULDBLOCK) break;
    timespec pause{0, 1'000'000};
    kernel_call(SYS_nanosleep, reinterpret_cast<long>(&pause), 0);
  }
  struct stat status {};
  if (kernel_path_call(SYS_lstat, path.c_str(), reinterpret_cast<long>(&status)) != 0 ||
      !identity.is(status)) {
    return true;
  }
  Path old = path;
  old.add(".old");
  if (!may_be_replaced(old)) {
    failure.add(old.c_str()).add(": is not a profile and is left alone: set FBLEPROF_OUT");
    return false;
  }
  if (kernel_path_call(SYS_rename, path.c_str(), reinterpret_cast<long>(old.c_str())) != 0) {
    failure.add(path.c_str()).add(": cannot be renamed to .old");
    return false;
  }
  return true;
}

// What map_base_header mapped last, if it is mapped still.
constinit std::atomic<format::Header*> mapped_header{nullptr};

// Maps the header of the profile after which children's profiles are named. Null if another file is
// at the path.
format::Header* map_base_header(const OutputName& name) {
  const File file(name.base_path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  struct stat status {};
  format::Header header{};
  if (!file || !is_ours_alone(file, &status) || !name.base.is(status) ||
      file.read(0, &header, sizeof header) != static_cast<long>(sizeof header) ||
      !has_magic(header) || header.major_version != format::kMajorVersion ||
      header.header_bytes != format::kHeaderBytes) {
    return nullptr;
  }
  auto* mapped = reinterpret_cast<format::Header*>(file.map(0, format::kHeaderBytes));
  mapped_header.store(mapped);
  return mapped;
}

void unmap_base_header(format::Header* header) {
  if (!header) return;
  format::Header* expected = header;
  mapped_header.compare_exchange_strong(expected, nullptr);
  kernel_call(SYS_munmap, reinterpret_cast<long>(header), format::kHeaderBytes);
}

// Counts one more child; false if there are already too many files. The header stays mapped.
bool count_child(OutputName& name) {
  unmap_base_header(name.base_header);
  format::Header* base = name.base_header = map_base_header(name);
  if (!base) return true;
  if (__atomic_fetch_add(&base->children, 1, __ATOMIC_RELAXED) < kMostChildren) return true;
  __atomic_fetch_sub(&base->children, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&base->lost_children, 1, __ATOMIC_RELAXED);
  return false;
}

// 0, or an errno: EEXIST if the name is taken.
int publish(Draft& draft, const Path& path) {
  if (draft.temporary.empty()) {
    Text<64> link{"/proc/self/fd/"};
    link.add_number(static_cast<std::uint64_t>(draft.file.fd()));
    return static_cast<int>(-kernel_call(SYS_linkat, AT_FDCWD, reinterpret_cast<long>(link.c_str()),
                                         AT_FDCWD, reinterpret_cast<long>(path.c_str()),
                                         AT_SYMLINK_FOLLOW));
  }
  const char* temporary = draft.temporary.c_str();
  long result = kernel_call(SYS_renameat2, AT_FDCWD, reinterpret_cast<long>(temporary), AT_FDCWD,
                            reinterpret_cast<long>(path.c_str()), RENAME_NOREPLACE);
  if (result == -EINVAL || result == -ENOSYS) {
    result = kernel_path_call(SYS_link, temporary, reinterpret_cast<long>(path.c_str()));
    if (result == 0) kernel_path_call(SYS_unlink, temporary);
  }
  if (result == 0) draft.temporary.clear();
  return static_cast<int>(-result);
}

// Chooses the next name to try: with the process id, then also with a count of the process's
// programs.
void name_differently(OutputName& name, int attempt, bool is_child) {
  name.is_secondary = true;
  if (attempt == 0 && !is_child) {
    name.path.add('.').add_number(own_pid());
    return;
  }
  if (attempt > (is_child ? 0 : 1)) {
    std::size_t dot = name.path.size();
    while (dot > 0 && name.path.c_str()[dot - 1] != '.') --dot;
    name.path.cut_to(dot - 1);
  }
  name.path.add('.').add_number(static_cast<std::uint64_t>(attempt) + 1);
}

const char* why_not_made(int error) {
  return error == EMFILE || error == ENFILE ? ": cannot be made: no descriptor is free"
         : error == ENOENT ? ": cannot be made: there is no such directory, or it takes no files"
         : error == ENOSPC ? ": cannot be made: the disk is full"
                           : ": cannot be made: the program cannot write the directory";
}

}  // namespace

void expand_template(const Settings& settings, OutputName& name) {
  name.path = expand(settings, &name.names_process);
}

Draft make_draft(const Path& path) {
  Path directory = path;
  std::size_t slash = directory.size();
  while (slash > 0 && directory.c_str()[slash - 1] != '/') --slash;
  directory.cut_to(slash);
  Draft draft;
  // A file without a name must be found in /proc to get a name.
  if (can_access("/proc/self/fd", F_OK)) {
    draft.file = File(directory.empty() ? "." : directory.c_str(), O_TMPFILE | O_RDWR, 0600);
    if (draft.file) return draft;
  }
  draft.temporary = path;
  draft.temporary.add('.').add_number(own_pid()).add(".new");
  constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW;
  draft.file = File(draft.temporary.c_str(), kFlags, 0600);
  if (draft.file.error() == EEXIST && may_be_replaced(draft.temporary)) {
    // A killed process that had our process id left this file.
    kernel_path_call(SYS_unlink, draft.temporary.c_str());
    draft.file = File(draft.temporary.c_str(), kFlags, 0600);
  }
  if (!draft.file) draft.temporary.clear();
  return draft;
}

void drop(Draft& draft) {
  if (!draft.temporary.empty()) kernel_path_call(SYS_unlink, draft.temporary.c_str());
  draft.temporary.clear();
  draft.file = File();
}

namespace {
// `counted`: whether this process is now counted in the first profile.
bool take_name(OutputName& name, Draft& draft, std::uint64_t run_start_ns, bool is_child,
               bool& counted) {
  int names = 0;
  for (int attempt = 0; attempt < 200 && names < 100; ++attempt) {
    File there;
    FileIdentity identity;
    switch (examine(name.path, run_start_ns, there, identity, name.failure)) {
      case Occupant::kRefused:
        return false;
      case Occupant::kTaken:
        if (names == 0 && !is_child) name.base = identity;
        name_differently(name, names++, is_child);
        continue;
      case Occupant::kFinished:
        if (!move_aside(name.path, there, identity, name.failure)) return false;
        break;
      case Occupant::kTrivial:
        kernel_path_call(SYS_unlink, name.path.c_str());
        // It was counted as ours is now: a shell forks each child before exec.
        if (name.is_secondary && !name.names_process) uncount_child(name);
        break;
      case Occupant::kNone:
        break;
    }
    if (name.is_secondary && !name.names_process && !counted) {
      if (!count_child(name)) {
        name.failure.add(name.path.c_str()).add(": not made: there are 1000 profiles beside it");
        name.loss_is_counted = true;
        return false;
      }
      counted = true;
    }
    const int error = draft.file ? publish(draft, name.path) : draft.file.error();
    if (error == 0) return true;
    if (error != EEXIST) {
      name.failure.add(name.path.c_str())
          .add(why_not_made(error))
          .add("; name a file that can be made (--out, FBLEPROF_OUT)");
      return false;
    }
  }
  name.failure.add(name.path.c_str()).add(": too many profiles of this name: remove some");
  return false;
}
}  // namespace

bool settle_name(OutputName& name, Draft& draft, std::uint64_t run_start_ns, bool is_child) {
  if (is_child && !name.names_process) name.path.add('.').add_number(own_pid());
  name.is_secondary = is_child;
  bool counted = false;
  if (take_name(name, draft, run_start_ns, is_child, counted)) return true;
  if (counted) uncount_child(name);
  return false;
}

format::Header* mapped_base_header() { return mapped_header.load(); }

void uncount_child(const OutputName& name) {
  format::Header* base = map_base_header(name);
  if (!base) return;
  // Not below 0, which would be more than any number of children.
  auto counted = __atomic_load_n(&base->children, __ATOMIC_RELAXED);
  while (counted != 0 && !__atomic_compare_exchange_n(&base->children, &counted, counted - 1, true,
                                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  unmap_base_header(base);
}

}  // namespace fbleprof::capture
