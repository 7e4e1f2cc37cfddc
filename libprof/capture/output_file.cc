#include "capture/output_file.h"

#include <algorithm>

#include "capture/large_stack.h"
#include "signal_safe/pages.h"
#include "signal_safe/populate.h"

namespace fbleprof::capture {

using arch::kernel_call;
using arch::kernel_failed;

namespace {

// What a program of a few libraries takes. Each page costs a start 4 us on ext4, so the next step
// (Arena) is for those that need it.
constexpr std::uint64_t kFirstPopulatedBytes = 32 * 1024;
constexpr std::uint64_t kLeastBytes = 1 << 20;

bool map_anonymous(OutputFile& file) {
  for (; file.cap_bytes >= kLeastBytes; file.cap_bytes /= 2) {
    file.base = signal_safe::map_memory(file.cap_bytes);
    if (!file.base) continue;
    file.populated_bytes = kFirstPopulatedBytes;
    file.anonymous = true;
    return true;
  }
  file.failure.add("no memory for a profile");
  return false;
}

// Our share of a limited address space: the program planned its use without us.
std::uint64_t spare_bytes() {
  const std::uint64_t limit = limit_of(RLIMIT_AS);
  if (limit == RLIM_INFINITY) return ~std::uint64_t{0};
  char text[64];
  std::uint64_t pages = 0;
  read_text("/proc/self/statm", text, sizeof text);
  for (const char* at = text; *at >= '0' && *at <= '9'; ++at) {
    pages = pages * 10 + static_cast<std::uint64_t>(*at - '0');
  }
  const std::uint64_t used = pages * 4096;
  return limit > used ? (limit - used) / 16 : 0;
}

// Maps the new file. False: no space is left, or it cannot be mapped.
bool map_file(OutputFile& file, const File& fd) {
  // The whole header page in one write.
  const format::Header header = starting_header(file);
  char page[format::kHeaderBytes]{};
  __builtin_memcpy(page, &header, sizeof header);
  if (!fd.write(0, page, sizeof page)) return false;
  for (; file.cap_bytes >= kLeastBytes; file.cap_bytes /= 2) {
    if (!fd.set_length(file.cap_bytes)) continue;
    char* memory = fd.map(0, file.cap_bytes);
    if (!memory) continue;
    // No read-ahead: in a hole it makes pages of zeros, on some disks 8 MB at the first touch,
    // which takes 2 to 6 ms.
    kernel_call(SYS_madvise, reinterpret_cast<long>(memory), static_cast<long>(file.cap_bytes),
                MADV_RANDOM);
    if (!signal_safe::populate(memory, kFirstPopulatedBytes)) {
      kernel_call(SYS_munmap, reinterpret_cast<long>(memory), static_cast<long>(file.cap_bytes));
      return false;
    }
    file.base = memory;
    file.populated_bytes = kFirstPopulatedBytes;
    return true;
  }
  return false;
}

void unmap(OutputFile& file) {
  if (file.base) {
    kernel_call(SYS_munmap, reinterpret_cast<long>(file.base), static_cast<long>(file.cap_bytes));
  }
  file.base = nullptr;
}

// The file at the path, if it is still ours.
File open_again(const OutputFile& file, int flags) {
  File again(file.name.path.c_str(), flags | O_NOFOLLOW | O_NONBLOCK);
  struct stat status {};
  if (!again || !again.read_status(&status) || !file.identity.is(status) || status.st_nlink != 1 ||
      status.st_size == 0) {
    return {};
  }
  return again;
}

// Replaces the mapping beyond the file's end by memory. valgrind's search for leaks reads all
// mappings, and each page there would raise a signal. A thread that was about to write a record
// when the file was frozen still finds memory.
void replace_tail(const OutputFile& file, std::uint64_t begin) {
  constexpr std::uint64_t kStillWritten = 1 << 20;
  const std::uint64_t middle = std::min(begin + kStillWritten, file.cap_bytes);
  auto replace = [&](std::uint64_t from, std::uint64_t to, int protection) {
    if (from == to) return;
    kernel_call(SYS_mmap, reinterpret_cast<long>(file.base + from), static_cast<long>(to - from),
                protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  };
  replace(begin, middle, PROT_READ | PROT_WRITE);
  replace(middle, file.cap_bytes, PROT_NONE);
}

void note_identity(OutputFile& file, const Draft& draft) {
  struct stat status {};
  if (draft.file.read_status(&status)) file.identity = FileIdentity::of(status);
}

// Like a mapped file, it is complete before it gets a name, which nobody else has got by then.
bool write_anonymous(OutputFile& file, std::uint64_t used_bytes) {
  if (used_bytes > limit_of(RLIMIT_FSIZE)) return false;
  file.name.path = file.name.base_path;
  file.name.failure.clear();
  Draft draft = make_draft(file.name.path);
  if ((draft.file && !draft.file.write(0, file.base, used_bytes)) ||
      !settle_name(file.name, draft, file.run_start_ns, file.is_child)) {
    drop(draft);
    return false;
  }
  note_identity(file, draft);
  return true;
}

}  // namespace

format::Header starting_header(const OutputFile& file) {
  format::Header header{};
  __builtin_memcpy(header.magic, format::kMagic, sizeof header.magic);
  header.major_version = format::kMajorVersion;
  header.minor_version = format::kMinorVersion;
  header.header_bytes = format::kHeaderBytes;
  header.byte_order = format::kByteOrderMark;
  header.unit_bytes = format::kUnitBytes;
  header.used_bytes = format::kHeaderBytes;
  header.cap_bytes = file.cap_bytes;
  header.state = format::State::kStarting;
  header.pid = file.owner.pid;
  header.process_start_ticks = file.owner.start_ticks;
  header.pid_namespace = file.owner.pid_namespace;
  return header;
}

OutputFile open_output(const Settings& settings, const OutputFile* parent) {
  OutputFile file;
  file.owner = own_identity();
  OutputName& name = file.name;
  expand_template(settings, name);
  if (parent && !name.names_process) {
    name.path = parent->name.base_path;
    name.base = parent->name.is_secondary ? parent->name.base : parent->identity;
    name.base_header = parent->name.base_header;
  }
  name.base_path = name.path;
  name.is_secondary = file.is_child = parent != nullptr;
  file.run_start_ns = settings.run_start_ns;
  const std::uint64_t most_bytes = std::min(settings.memory_bytes, spare_bytes() / 4096 * 4096);
  file.cap_bytes = most_bytes;
  if (name.path.was_cut()) {
    file.failure.add("FBLEPROF_OUT is too long");
    return file;
  }
  // Beyond this limit, a write raises a signal instead of an error.
  if (const std::uint64_t limit = limit_of(RLIMIT_FSIZE); limit < file.cap_bytes) {
    file.cap_bytes = limit / 4096 * 4096;
    if (file.cap_bytes < kLeastBytes) {
      file.failure.add("the limit on file size (ulimit -f) leaves no room for a profile");
      return file;
    }
  }
  Draft draft = make_draft(name.path);
  const bool is_made = static_cast<bool>(draft.file);
  const bool is_mapped = is_made && map_file(file, draft.file);
  if (is_made && !is_mapped) {
    drop(draft);
    file.cap_bytes = most_bytes;
    if (map_anonymous(file)) {
      file.failure.add(name.path.c_str())
          .add(
              ": cannot be mapped or has no space left: the profile is kept in memory and written "
              "at the end, if it can be");
    }
    return file;
  }
  if (!settle_name(name, draft, file.run_start_ns, file.is_child)) {
    unmap(file);
    drop(draft);
    file.failure = name.failure;
    return file;
  }
  note_identity(file, draft);
  return file;
}

bool reopen_output(OutputFile& file, std::uint64_t used_bytes) {
  if (file.anonymous) {
    remove_output(file);
    file.identity = {};
    return true;
  }
  const File again = open_again(file, O_RDWR);
  // Beyond the limit, a growing file raises SIGXFSZ in its writer.
  if (!again || file.cap_bytes > limit_of(RLIMIT_FSIZE) || !again.set_length(file.cap_bytes)) {
    return false;
  }
  const std::uint64_t end = file.end_bytes;
  // Keep data that a thread wrote behind the end meanwhile.
  if (used_bytes > end && !again.write(end, file.base + end, used_bytes - end)) return false;
  return end >= file.cap_bytes || again.map(end, file.cap_bytes - end, file.base + end);
}

bool close_output(OutputFile& file, std::uint64_t used_bytes) {
  if (file.name.path.empty()) return true;
  if (file.anonymous) {
    bool is_written = false;
    on_large_stack([&] { is_written = write_anonymous(file, used_bytes); });
    return is_written;
  }
  const File again = open_again(file, O_WRONLY);
  // A failure leaves the hole: the header says where the profile ends.
  if (!again || !again.set_length(used_bytes)) return true;
  file.end_bytes = used_bytes;
  replace_tail(file, used_bytes);
  return true;
}

void discard_output(OutputFile& file) {
  remove_output(file);
  unmap(file);
}

void remove_output(const OutputFile& file) {
  if (file.name.path.empty() || !open_again(file, O_RDONLY)) return;
  kernel_path_call(SYS_unlink, file.name.path.c_str());
  uncount_child(file.name);
}

}  // namespace fbleprof::capture
