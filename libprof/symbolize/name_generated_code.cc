#include "symbolize/name_generated_code.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
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

// The names that the program wrote, and where.
struct Names {
  GeneratedCode code;
  bool are_from_map = false;
};

Names names_of(const profile::Profile& profile, const Process& process) {
  Names names;
  const auto map = bytes_of(fmt::format("/tmp/perf-{}.map", process.pid), process);
  read_perf_map({reinterpret_cast<const char*>(map.data()), map.size()}, &names.code);
  names.are_from_map = !names.code.is_empty();
  if (names.are_from_map) return names;
  for (const std::string& place : places_of_dump(profile, process)) {
    if (read_jitdump(bytes_of(place, process), &names.code)) break;
  }
  return names;
}

GeneratedCode::Question question_of(const profile::Functions& functions, std::size_t f,
                                    bool is_about_map) {
  GeneratedCode::Question question;
  question.address = functions.address[f];
  const bool is_instruction = functions.kind[f] == FunctionKind::kInstruction;
  if (!is_instruction) question.bytes = kStretchBytes;
  const bool had_map = (functions.flags[f] & format::kFunctionMapBytes) != 0;
  const std::uint64_t met_ns = functions.first_met_ns[f];
  if (is_about_map && had_map) {
    question.moment = functions.map_bytes[f];
  } else if (met_ns == 0) {
    question.moment = UINT64_MAX;
  } else {
    question.moment = is_about_map ? 0 : met_ns;  // 0: the program had no map yet
  }
  return question;
}

void name_function(profile::Functions& functions, std::size_t f, const GeneratedFunction& found,
                   profile::StringInterner& strings) {
  functions.name[f] = strings.intern(found.name);
  if (!found.file.empty()) {
    functions.file[f] = strings.intern(found.file);
    functions.line[f] = found.line;
  }
  if (functions.kind[f] == FunctionKind::kInstruction) return;
  functions.kind[f] = FunctionKind::kJit;
  functions.address[f] = found.begin;
  functions.size[f] = static_cast<std::uint32_t>(std::min(found.size, std::uint64_t{UINT32_MAX}));
  functions.column[f] = found.column;
  functions.language[f] = strings.intern(found.language);
}

// The recorder copies names as the runtime wrote them.
bool has_whole_name(const profile::Functions& functions, std::size_t f) {
  return functions.kind[f] == FunctionKind::kJit && !functions.language[f];
}

}  // namespace

profile::Profile name_generated_code(const profile::Profile& profile) {
  profile::Functions functions = profile.functions();
  std::vector<std::size_t> unnamed, whole;
  for (std::size_t f = 0; f < functions.count(); ++f) {
    if (is_unnamed_code(profile, f)) unnamed.push_back(f);
    if (has_whole_name(functions, f)) whole.push_back(f);
  }
  if ((unnamed.empty() && whole.empty()) || profile.processes().size() != 1) return profile;
  const Process& process = profile.processes()[0];
  if (process.is_imported || process.pid == 0) return profile;

  profile::StringInterner strings(profile.strings());
  for (const std::size_t f : whole) {
    GeneratedFunction parts = take_apart(profile.text(functions.name[f]));
    parts.begin = functions.address[f];
    parts.size = functions.size[f];
    name_function(functions, f, parts, strings);
  }
  if (!unnamed.empty()) {
    const Names names = names_of(profile, process);
    std::vector<GeneratedCode::Question> questions;
    for (const std::size_t f : unnamed) {
      questions.push_back(question_of(functions, f, names.are_from_map));
    }
    const auto answers = names.code.answer(questions);
    for (std::size_t i = 0; i < unnamed.size(); ++i) {
      if (answers[i] != nullptr) name_function(functions, unnamed[i], *answers[i], strings);
    }
  }
  profile::Parts parts = profile.parts();
  parts.strings = std::make_shared<profile::Strings>(strings.take());
  parts.functions = std::make_shared<profile::Functions>(std::move(functions));
  return profile::Profile(std::move(parts));
}

}  // namespace fbleprof::symbolize
