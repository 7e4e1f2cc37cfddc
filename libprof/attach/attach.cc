#include "attach/attach.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <optional>

#include "attach/borrowed_thread.h"
#include "attach/loaded_file.h"
#include "attach/memory.h"
#include "attach/own_library.h"
#include "control/process.h"
#include "format/attach_order.h"

namespace fbleprof::attach {

using format::AttachOrder;

namespace {

// A program that its user may run but not read may be.
bool may_be_same_machine(pid_t pid) {
  const auto head = [](const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::string bytes(20, 0);
    in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return bytes.substr(4, 1) + bytes.substr(18);
  };
  const std::string exe = "/proc/" + std::to_string(pid) + "/exe";
  return access(exe.c_str(), R_OK) != 0 || head(exe) == head("/proc/self/exe");
}

}  // namespace

bool has_own_files(pid_t pid) {
  struct stat own {
  }, its{};
  const std::string folder = "/proc/" + std::to_string(pid);
  const auto differs = [&](const std::string& ours, const std::string& theirs) {
    return stat(ours.c_str(), &own) == 0 && stat(theirs.c_str(), &its) == 0 &&
           (own.st_ino != its.st_ino || own.st_dev != its.st_dev);
  };
  return differs("/proc/self/ns/mnt", folder + "/ns/mnt") || differs("/", folder + "/root/");
}

Result<Recorder> find_recorder(pid_t pid, const std::string& library) {
  const std::vector<Mapping> mappings = mappings_of(pid);
  if (mappings.empty()) {
    if (control::start_ticks(pid) != 0) return refusal_to_look(pid);
    return Error{"process " + std::to_string(pid), std::nullopt, "there is none", ""};
  }
  Recorder recorder;
  std::uint64_t pointer = find_in_library(pid, library, "fbleprof_output_path");
  recorder.is_loaded = find_library(mappings, library) != nullptr;
  if (pointer != 0 && read_memory(pid, pointer, &pointer, sizeof pointer)) {
    recorder.profile = read_text(pid, pointer);
  }
  return recorder;
}

namespace {

// Whether the loader has finished the library's pointers. If it has no memory for the library's
// end, it leaves the begin mapped, whose code must not be called.
bool is_relocated(pid_t pid, const std::string& library) {
  const std::uint64_t at = find_in_library(pid, library, "fbleprof_output_path");
  std::uint64_t pointer = 0;
  return at != 0 && read_memory(pid, at, &pointer, sizeof pointer) &&
         mapping_at(mappings_of(pid), pointer) != nullptr;
}

// The recorder is there since an attach that failed, for example because it could not make its
// file.
Status start_loaded(pid_t pid, BorrowedThread& thread, const std::string& library) {
  const std::uint64_t function = find_in_library(pid, library, "fbleprof_start_attached");
  if (function == 0) {
    return error_of(pid, "its recorder is that of another fble-prof", "restart the program");
  }
  if (!is_relocated(pid, library)) {
    return error_of(pid, "its recorder is only half loaded, by an attach that failed or goes on",
                    "if it stays so, restart the program with a higher limit of memory (ulimit)");
  }
  const auto called = thread.call(function, thread.stack());
  if (!called) return called.error();
  return std::nullopt;
}

}  // namespace

Status load_recorder(pid_t pid, const std::string& library,
                     const std::vector<std::string>& settings) {
  if (!may_be_same_machine(pid)) return error_of(pid, "it is a program for another processor");
  if (control::handles(pid, SIGPROF)) {
    return error_of(pid, "it uses SIGPROF itself", "start it under fble-prof instead");
  }
  AttachOrder order{};
  std::memcpy(order.magic, format::kAttachMagic, sizeof order.magic);
  std::size_t at = 0;
  for (const std::string& setting : settings) {
    if (at + setting.size() + 2 > sizeof order.settings) return error_of(pid, "too many settings");
    std::memcpy(order.settings + at, setting.c_str(), setting.size() + 1);
    at += setting.size() + 1;
  }
  const auto taken = BorrowedThread::take(pid);
  if (!taken) return taken.error();
  BorrowedThread& thread = **taken;
  if (thread.has_split_stack()) {
    return error_of(pid,
                    "its stacks grow by pieces (-fsplit-stack): they may have no room for samples",
                    "start it under fble-prof instead");
  }
  if (!thread.write(thread.stack(), &order, sizeof order)) {
    return unwritable_memory(pid);
  }
  // Without this, nothing could tell what the recorder answers.
  if (!thread.read(thread.stack(), &order, sizeof order)) {
    return unreadable_memory(pid);
  }
  const bool is_loaded = find_library(mappings_of(pid), library) != nullptr;
  // The recorder finds the order on the stack.
  const Status bad =
      is_loaded ? start_loaded(pid, thread, library) : load_library(pid, thread, library);
  if (bad) return bad;
  if (!thread.read(thread.stack(), &order, sizeof order) || order.is_recording == 0) {
    order.reason[sizeof order.reason - 1] = 0;
    return error_of(pid, order.reason);
  }
  return std::nullopt;
}

Status make_recorder_obey(pid_t pid, const std::string& library) {
  const std::uint64_t function = find_in_library(pid, library, "fbleprof_obey");
  if (function == 0) return error_of(pid, "its recorder cannot be read");
  const auto thread = BorrowedThread::take(pid);
  if (!thread) return thread.error();
  const auto called = (*thread)->call(function);
  if (!called) return called.error();
  return std::nullopt;
}

}  // namespace fbleprof::attach
