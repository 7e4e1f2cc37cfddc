#include "symbolize/name_generated_code.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "symbolize/generated_code.h"

namespace fbleprof::symbolize {
namespace {

namespace fs = std::filesystem;
using profile::FunctionKind;
using profile::Process;

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
// How long a runtime may write after the last sample.
constexpr std::uint64_t kLateSeconds = 60;
constexpr std::size_t kMostBytes = std::size_t{1} << 30;
// The recorder's unit for code whose function boundaries are unknown.
constexpr std::uint64_t kStretchBytes = 16;

bool is_unnamed_code(const profile::Profile& profile, std::size_t f) {
  const profile::Functions& functions = profile.functions();
  const bool is_code =
      functions.kind[f] == FunctionKind::kNative || functions.kind[f] == FunctionKind::kInstruction;
  return is_code && !functions.module[f] && functions.address[f] != 0 &&
         profile.text(functions.name[f]).empty();
}

// An earlier process with the same id, or another user, may have left the file.
bool is_of(const Process& process, const struct stat& status) {
  if (!S_ISREG(status.st_mode) || (status.st_uid != geteuid() && geteuid() != 0)) return false;
  const std::uint64_t start = process.start_realtime_ns / kNsPerSecond;
  const std::uint64_t end = (process.start_realtime_ns + process.duration_ns) / kNsPerSecond;
  const auto written = static_cast<std::uint64_t>(status.st_mtime);
  const bool may_be_late =
      process.state == profile::ProcessState::kLive || written <= end + kLateSeconds;
  return written + 1 >= start && may_be_late;
}

// The bytes of a file of this process; none if it is not there.
std::vector<std::byte> bytes_of(const std::string& path, const Process& process) {
  std::vector<std::byte> bytes;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return bytes;
  struct stat status {};
  if (fstat(fd, &status) == 0 && is_of(process, status)) {
    bytes.resize(std::min(static_cast<std::size_t>(status.st_size), kMostBytes));
    std::size_t done = 0;
    for (ssize_t got = 1; got > 0 && done < bytes.size();) {
      got = read(fd, bytes.data() + done, bytes.size() - done);
      if (got > 0) done += static_cast<std::size_t>(got);
    }
    bytes.resize(done);
  }
  close(fd);
  return bytes;
}

// Where runtimes write their jitdump.
std::vector<std::string> places_of_dump(const profile::Profile& profile, const Process& process) {
  const std::string name = fmt::format("jit-{}.dump", process.pid);
  const std::string directory(profile.text(process.working_directory));
  std::vector<std::string> places = {directory + "/" + name, "/tmp/" + name};
  const char* home = std::getenv("JITDUMPDIR");
  if (home == nullptr) home = std::getenv("HOME");
  std::error_code failure;
  if (home != nullptr) {
    for (const auto& entry : fs::directory_iterator(std::string(home) + "/.debug/jit", failure)) {
      places.push_back(entry.path().string() + "/" + name);
    }
  }
  return places;
}

GeneratedCode code_of(const profile::Profile& profile, const Process& process) {
  GeneratedCode code;
  const auto map = bytes_of(fmt::format("/tmp/perf-{}.map", process.pid), process);
  read_perf_map({reinterpret_cast<const char*>(map.data()), map.size()}, &code);
  if (!code.is_empty()) return code;
  for (const std::string& place : places_of_dump(profile, process)) {
    if (read_jitdump(bytes_of(place, process), &code)) break;
  }
  return code;
}

}  // namespace

profile::Profile name_generated_code(const profile::Profile& profile) {
  const std::size_t count = profile.functions().count();
  std::vector<std::size_t> unnamed;
  for (std::size_t f = 0; f < count; ++f) {
    if (is_unnamed_code(profile, f)) unnamed.push_back(f);
  }
  if (unnamed.empty() || profile.processes().size() != 1) return profile;
  const Process& process = profile.processes()[0];
  if (process.is_imported || process.pid == 0) return profile;
  const GeneratedCode code = code_of(profile, process);
  if (code.is_empty()) return profile;

  profile::Functions functions = profile.functions();
  profile::StringInterner strings(profile.strings());
  for (const std::size_t f : unnamed) {
    const bool is_instruction = functions.kind[f] == FunctionKind::kInstruction;
    const std::uint64_t address = functions.address[f];
    const GeneratedFunction* found = code.find(address);
    if (found == nullptr && !is_instruction) {
      found = code.first_in(address, address + kStretchBytes);
    }
    if (found == nullptr) continue;
    functions.name[f] = strings.intern(found->name);
    functions.file[f] = strings.intern(found->file);
    functions.line[f] = found->line;
    if (is_instruction) continue;
    functions.kind[f] = FunctionKind::kJit;
    functions.address[f] = found->begin;
    functions.size[f] =
        static_cast<std::uint32_t>(std::min(found->size, std::uint64_t{UINT32_MAX}));
    functions.column[f] = found->column;
    functions.language[f] = strings.intern(found->language);
  }
  profile::Parts parts = profile.parts();
  parts.strings = std::make_shared<profile::Strings>(strings.take());
  parts.functions = std::make_shared<profile::Functions>(std::move(functions));
  return profile::Profile(std::move(parts));
}

}  // namespace fbleprof::symbolize
