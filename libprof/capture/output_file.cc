#include "capture/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "capture/program_path.h"
#include "format/format.h"
#include "signal_safe/arch/x86_64/kernel.h"

namespace fbleprof::capture {

namespace {

constexpr std::uint64_t kFirstPopulatedBytes = 128 * 1024;
constexpr std::uint64_t kLeastBytes = 1 << 20;
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

std::uint32_t own_pid() { return static_cast<std::uint32_t>(signal_safe::kernel_call(SYS_getpid)); }

std::size_t read_file(const char* path, char* buffer, std::size_t capacity) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t got = read(fd, buffer, capacity - 1);
  close(fd);
  buffer[got > 0 ? got : 0] = 0;
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

void add_program_name(Path& path) {
  const char* target = program_path();
  const char* name = target;
  for (const char* at = target; *at; ++at) {
    if (*at == '/') name = at + 1;
  }
  path.add(*name ? name : "unknown");
}

Path expand(const Settings& settings, bool* names_process) {
  Path path;
  *names_process = false;
  if (settings.out.c_str()[0] != '/') {
    char directory[4096];
    if (getcwd(directory, sizeof directory)) path.add(directory).add('/');
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
        uname(&host);
        path.add(host.nodename);
        break;
      }
      case 't':
        path.add_number(static_cast<std::uint64_t>(time(nullptr)));
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

// kTaken: by a live process, or by one of the same run that has ended.
enum class Occupant { kNone, kTaken, kFinished, kTrivial, kRefused };

// Who is at the path now. `run_start_ns`: profiles that began since are of this run; 0: not known.
Occupant examine(const Path& path, std::uint64_t run_start_ns, Text<512>& failure) {
  const int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) {
    if (errno == ENOENT) return Occupant::kNone;
    failure.add(path.c_str())
        .add(errno == ELOOP ? ": is a symbolic link, which is not followed: remove it or set "
                              "FBLEPROF_OUT"
                            : ": cannot be opened: set FBLEPROF_OUT to a place that can");
    return Occupant::kRefused;
  }
  struct stat status {};
  format::Header header{};
  const bool plain = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1 &&
                     status.st_uid == geteuid();
  const ssize_t got = plain ? pread(fd, &header, sizeof header, 0) : 0;
  close(fd);
  if (!plain) {
    failure.add(path.c_str()).add(": is not a plain file of this user's alone: set FBLEPROF_OUT");
    return Occupant::kRefused;
  }
  if (got == 0) return Occupant::kFinished;
  bool is_profile = got >= 8;
  for (int i = 0; is_profile && i < 8; ++i) is_profile = header.magic[i] == format::kMagic[i];
  if (!is_profile) {
    failure.add(path.c_str()).add(": is not a profile and is left alone: set FBLEPROF_OUT");
    return Occupant::kRefused;
  }
  const Occupant ended = run_start_ns != 0 && header.start_realtime_ns >= run_start_ns
                             ? Occupant::kTaken
                             : Occupant::kFinished;
  if (header.state != format::State::kLive && header.state != format::State::kStarting &&
      header.state != format::State::kExeced) {
    return ended;
  }
  // In another pid namespace its process cannot be asked after: it counts as live.
  if (header.pid_namespace != pid_namespace()) return Occupant::kTaken;
  if (header.pid == own_pid() && header.state == format::State::kExeced &&
      (header.flags & format::kHeaderTrivial)) {
    return Occupant::kTrivial;
  }
  const std::uint64_t start = process_start_ticks(header.pid);
  return start != 0 && start == header.process_start_ticks ? Occupant::kTaken : ended;
}

// Exclusive use of the directory while names are looked at and changed: two processes that start at
// once must not both move the same old profile away. Best effort: not all file systems lock.
class DirectoryLock {
 public:
  explicit DirectoryLock(const Path& path) {
    Path directory = path;
    std::size_t slash = directory.size();
    while (slash > 0 && directory.c_str()[slash - 1] != '/') --slash;
    directory.cut_to(slash);
    fd_ = open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int tries = 0; fd_ >= 0 && tries < 200 && flock(fd_, LOCK_EX | LOCK_NB) != 0; ++tries) {
      timespec pause{0, 1'000'000};
      signal_safe::kernel_call(SYS_nanosleep, reinterpret_cast<long>(&pause), 0);
    }
  }
  ~DirectoryLock() {
    if (fd_ >= 0) close(fd_);
  }
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  int fd_;
};

// The header of the profile that children's are named after, mapped, as long as this lives.
class BaseHeader {
 public:
  explicit BaseHeader(const Path& path) {
    const int fd = open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) return;
    struct stat status {};
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        status.st_size >= static_cast<off_t>(format::kHeaderBytes)) {
      void* page = mmap(nullptr, format::kHeaderBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
      if (page != MAP_FAILED) header_ = static_cast<format::Header*>(page);
    }
    close(fd);
  }
  ~BaseHeader() {
    if (header_) munmap(header_, format::kHeaderBytes);
  }
  BaseHeader(const BaseHeader&) = delete;
  BaseHeader& operator=(const BaseHeader&) = delete;
  format::Header* get() const { return header_; }

 private:
  format::Header* header_ = nullptr;
};

// Counts one child more; false if there are too many files already.
bool count_child(const Path& base_path) {
  const BaseHeader base(base_path);
  if (!base.get()) return true;
  if (__atomic_fetch_add(&base.get()->children, 1, __ATOMIC_RELAXED) < kMostChildren) return true;
  __atomic_fetch_sub(&base.get()->children, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&base.get()->lost_children, 1, __ATOMIC_RELAXED);
  return false;
}

int create(const Path& path) {
  return open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

// Settles on a name and creates the file; -1 with a reason if it cannot be.
int create_output(OutputFile& file, std::uint64_t run_start_ns, bool is_child, bool names_process) {
  file.base_path = file.path;
  if (is_child && !names_process) file.path.add('.').add_number(own_pid());
  file.is_secondary = is_child;
  for (int attempt = 0; attempt < 100; ++attempt) {
    switch (examine(file.path, run_start_ns, file.failure)) {
      case Occupant::kRefused:
        return -1;
      case Occupant::kTaken: {
        // The process's own number, then a count of the programs it went through.
        file.is_secondary = true;
        if (attempt == 0 && !is_child) {
          file.path.add('.').add_number(own_pid());
        } else {
          const std::size_t length = file.path.size();
          if (attempt > 1) {
            std::size_t dot = length;
            while (dot > 0 && file.path.c_str()[dot - 1] != '.') --dot;
            file.path.cut_to(dot - 1);
          }
          file.path.add('.').add_number(static_cast<std::uint64_t>(attempt) + 1);
        }
        continue;
      }
      case Occupant::kFinished: {
        Path old = file.path;
        old.add(".old");
        if (rename(file.path.c_str(), old.c_str()) != 0) {
          file.failure.add(file.path.c_str()).add(": cannot be renamed to .old");
          return -1;
        }
        break;
      }
      case Occupant::kTrivial:
        unlink(file.path.c_str());
        break;
      case Occupant::kNone:
        break;
    }
    if (file.is_secondary && !names_process && !count_child(file.base_path)) {
      file.failure.add(file.path.c_str()).add(": not made: there are 1000 profiles beside it");
      file.loss_is_counted = true;
      return -1;
    }
    const int fd = create(file.path);
    if (fd >= 0) return fd;
    if (errno != EEXIST) {
      file.failure.add(file.path.c_str())
          .add(errno == EMFILE || errno == ENFILE ? ": cannot be made: no descriptor is free"
               : errno == ENOENT                  ? ": cannot be made: there is no such directory"
               : errno == ENOSPC                  ? ": cannot be made: the disk is full"
                                 : ": cannot be made: the directory cannot be written")
          .add("; set FBLEPROF_OUT to a file that can be made");
      return -1;
    }
  }
  file.failure.add(file.path.c_str()).add(": too many profiles of this name: remove some");
  return -1;
}

bool map_anonymous(OutputFile& file) {
  for (; file.cap_bytes >= kLeastBytes; file.cap_bytes /= 2) {
    void* memory = mmap(nullptr, file.cap_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) continue;
    file.base = static_cast<char*>(memory);
    file.populated_bytes = kFirstPopulatedBytes;
    file.anonymous = true;
    return true;
  }
  file.failure.add("no memory for a profile");
  return false;
}

// What a limited address space can spare: the program planned without us.
std::uint64_t spare_bytes() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return ~std::uint64_t{0};
  char text[64];
  std::uint64_t pages = 0;
  read_file("/proc/self/statm", text, sizeof text);
  for (const char* at = text; *at >= '0' && *at <= '9'; ++at) {
    pages = pages * 10 + static_cast<std::uint64_t>(*at - '0');
  }
  const std::uint64_t used = pages * 4096;
  return limit.rlim_cur > used ? (limit.rlim_cur - used) / 16 : 0;
}

// Maps the new file; on failure its space is given back and the profile goes to memory.
bool map_file(OutputFile& file, int fd) {
  for (; file.cap_bytes >= kLeastBytes; file.cap_bytes /= 2) {
    if (ftruncate(fd, static_cast<off_t>(file.cap_bytes)) != 0) continue;
    void* memory =
        mmap(nullptr, file.cap_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (memory == MAP_FAILED) continue;
    // No reading ahead: of a hole it makes pages of zeros, on some disks 8 MB of them at the first
    // touch, which takes 2 to 6 ms.
    madvise(memory, file.cap_bytes, MADV_RANDOM);
    if (madvise(memory, kFirstPopulatedBytes, MADV_POPULATE_WRITE) != 0) {
      munmap(memory, file.cap_bytes);
      return false;
    }
    file.base = static_cast<char*>(memory);
    file.populated_bytes = kFirstPopulatedBytes;
    return true;
  }
  return false;
}

}  // namespace

std::uint64_t process_start_ticks(std::uint32_t pid) {
  Text<64> path;
  path.add("/proc/");
  // /proc may be that of another pid namespace, where our number is somebody else's.
  if (pid == own_pid()) {
    path.add("self");
  } else {
    path.add_number(pid);
  }
  path.add("/stat");
  char text[1024];
  if (read_file(path.c_str(), text, sizeof text) == 0) return 0;
  // The program's name, in parentheses, may hold anything: fields count from its last one.
  const char* at = text;
  for (const char* c = text; *c; ++c) {
    if (*c == ')') at = c + 1;
  }
  for (int field = 2; field < 22 && *at; ++at) {
    if (*at == ' ') ++field;
  }
  std::uint64_t ticks = 0;
  for (; *at >= '0' && *at <= '9'; ++at) ticks = ticks * 10 + static_cast<std::uint64_t>(*at - '0');
  return ticks;
}

std::uint64_t pid_namespace() {
  struct stat status {};
  return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

format::Header starting_header(const OutputFile& file) {
  format::Header header{};
  __builtin_memcpy(header.magic, format::kMagic, sizeof header.magic);
  header.version = format::kVersion;
  header.header_bytes = format::kHeaderBytes;
  header.byte_order = format::kByteOrderMark;
  header.unit_bytes = format::kUnitBytes;
  header.used_bytes = format::kHeaderBytes;
  header.cap_bytes = file.cap_bytes;
  header.state = format::State::kStarting;
  header.pid = own_pid();
  header.process_start_ticks = process_start_ticks(header.pid);
  header.pid_namespace = pid_namespace();
  return header;
}

OutputFile open_output(const Settings& settings, const Path* base_path) {
  OutputFile file;
  bool names_process = false;
  file.path = expand(settings, &names_process);
  if (base_path && !names_process) file.path = *base_path;
  const std::uint64_t most_bytes = std::min(settings.memory_bytes, spare_bytes() / 4096 * 4096);
  file.cap_bytes = most_bytes;
  if (file.path.was_cut()) {
    file.failure.add("FBLEPROF_OUT is too long");
    return file;
  }
  // Beyond this limit a write is not an error but a signal.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < file.cap_bytes) {
    file.cap_bytes = limit.rlim_cur / 4096 * 4096;
    if (file.cap_bytes < kLeastBytes) {
      file.failure.add("the limit on file size (ulimit -f) leaves no room for a profile");
      return file;
    }
  }
  int fd;
  {
    DirectoryLock lock(file.path);
    fd = create_output(file, settings.run_start_ns, base_path != nullptr, names_process);
    if (fd < 0) return file;
    struct stat status {};
    fstat(fd, &status);
    file.device = status.st_dev;
    file.inode = status.st_ino;
    // Who looks at the name from now on must see that it is taken.
    // The whole of it in one write: killed after that, the process leaves a file that is whole.
    const format::Header header = starting_header(file);
    char page[format::kHeaderBytes]{};
    __builtin_memcpy(page, &header, sizeof header);
    if (write(fd, page, sizeof page) != static_cast<ssize_t>(sizeof page)) {
      file.failure.add(file.path.c_str()).add(": no space is left");
    }
  }
  if (!file.failure.empty() || !map_file(file, fd)) {
    close(fd);
    unlink(file.path.c_str());
    file.failure.clear();
    file.device = file.inode = 0;
    file.cap_bytes = most_bytes;
    if (map_anonymous(file)) {
      file.failure.add(file.path.c_str())
          .add(
              ": cannot be mapped or has no space left: the profile is kept in memory and written "
              "at the end, if it can be");
    }
    return file;
  }
  close(fd);
  return file;
}

namespace {
// Gives the file a new length, if the path still names it.
bool resize(const OutputFile& file, std::uint64_t bytes) {
  // Beyond this a file that grows brings its writer SIGXFSZ.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
  const int fd = open(file.path.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  struct stat status {};
  const bool done =
      fstat(fd, &status) == 0 && status.st_dev == file.device && status.st_ino == file.inode &&
      status.st_size > 0 &&
      (bytes <= static_cast<std::uint64_t>(status.st_size) || bytes <= limit.rlim_cur) &&
      ftruncate(fd, static_cast<off_t>(bytes)) == 0;
  close(fd);
  return done;
}

// What is beyond the file's end must not be met: valgrind's search for leaks reads all that is
// mapped, and each page there would be a signal. A thread that was about to write a record when the
// file was frozen still finds memory.
void replace_tail(const OutputFile& file, std::uint64_t begin) {
  constexpr std::uint64_t kStillWritten = 1 << 20;
  const std::uint64_t middle = std::min(begin + kStillWritten, file.cap_bytes);
  auto replace = [&](std::uint64_t from, std::uint64_t to, int protection) {
    if (from == to) return;
    signal_safe::kernel_call(SYS_mmap, reinterpret_cast<long>(file.base + from),
                             static_cast<long>(to - from), protection,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  };
  replace(begin, middle, PROT_READ | PROT_WRITE);
  replace(middle, file.cap_bytes, PROT_NONE);
}
}  // namespace

bool reopen_output(OutputFile& file, std::uint64_t used_bytes) {
  if (file.anonymous) return true;
  if (!resize(file, file.cap_bytes)) return false;
  const int fd = open(file.path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  struct stat status {};
  bool mapped = fstat(fd, &status) == 0 && status.st_dev == file.device &&
                status.st_ino == file.inode &&
                static_cast<std::uint64_t>(status.st_size) >= file.cap_bytes;
  const std::uint64_t end = file.end_bytes;
  // What a thread wrote meanwhile behind the end.
  if (mapped && used_bytes > end) {
    const auto late = used_bytes - end;
    mapped =
        pwrite(fd, file.base + end, late, static_cast<off_t>(end)) == static_cast<ssize_t>(late);
  }
  if (mapped && end < file.cap_bytes) {
    mapped =
        mmap(file.base + end, file.cap_bytes - end, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, static_cast<off_t>(end)) != MAP_FAILED;
  }
  close(fd);
  return mapped;
}

void close_output(OutputFile& file, std::uint64_t used_bytes) {
  if (file.path.empty()) return;
  if (file.anonymous) {
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || used_bytes > limit.rlim_cur) return;
    const int fd = create(file.path);
    if (fd < 0) return;
    std::uint64_t done = 0;
    while (done < used_bytes) {
      const ssize_t wrote = write(fd, file.base + done, used_bytes - done);
      if (wrote <= 0) break;
      done += static_cast<std::uint64_t>(wrote);
    }
    close(fd);
    return;
  }
  // A failure leaves the hole: the header says where the profile ends.
  if (!resize(file, used_bytes)) return;
  file.end_bytes = used_bytes;
  replace_tail(file, used_bytes);
}

void remove_output(const OutputFile& file) {
  struct stat status {};
  if (!file.path.empty() && !file.anonymous && lstat(file.path.c_str(), &status) == 0 &&
      status.st_dev == file.device && status.st_ino == file.inode) {
    unlink(file.path.c_str());
    const BaseHeader base(file.base_path);
    if (base.get()) __atomic_fetch_sub(&base.get()->children, 1, __ATOMIC_RELAXED);
  }
}

}  // namespace fbleprof::capture
