#include "capture/plans.h"

#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/wait.h>

#include "capture/kernel_file.h"
#include "capture/modules.h"
#include "capture/own_memory.h"
#include "capture/signals.h"
#include "plan/file_stamp.h"
#include "signal_safe/close_from.h"
#include "signal_safe/session.h"

extern "C" long fbleprof_start_child(long flags, void* stack, void (*function)(void*),
                                     void* argument) __attribute__((visibility("hidden")));

namespace fbleprof::capture {

using arch::kernel_call;
using arch::kernel_failed;
using signal_safe::session;

namespace {

KeptPlan kept_plans[kMostKeptPlans];

const KeptPlan* kept_plan_of(const format::Module& module) {
  for (const KeptPlan& each : kept_plans) {
    if (each.bytes && each.module_begin == module.begin) return &each;
  }
  return nullptr;
}

}  // namespace

bool keep_plan(const KeptPlan& plan) {
  KeptPlan* place = nullptr;
  for (KeptPlan& each : kept_plans) {
    if (each.bytes && each.module_begin == plan.module_begin) {
      each = plan;
      return true;
    }
    if (!each.bytes && !place) place = &each;
  }
  if (place) *place = plan;
  return place != nullptr;
}

Plan::~Plan() { unmap(); }

void Plan::unmap() {
  if (is_mapped_) {
    kernel_call(SYS_munmap, reinterpret_cast<long>(bytes_), static_cast<long>(size_));
  }
  bytes_ = nullptr;
  is_mapped_ = false;
}

bool is_trusted(const struct stat& status) {
  constexpr mode_t kOthersMayWrite = S_IWGRP | S_IWOTH;
  return S_ISREG(status.st_mode) && (status.st_mode & kOthersMayWrite) == 0 &&
         (status.st_uid == 0 || status.st_uid == static_cast<uid_t>(kernel_call(SYS_geteuid)));
}

bool Plan::open(const char* path) {
  const File file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  struct stat status;
  if (!file || !file.read_status(&status) || !is_trusted(status) || status.st_size == 0) {
    return false;
  }
  const long at = kernel_call(SYS_mmap, 0, static_cast<long>(status.st_size), PROT_READ,
                              MAP_PRIVATE, file.fd(), 0);
  if (kernel_failed(at)) return false;
  is_mapped_ = true;
  bytes_ = reinterpret_cast<const char*>(at);
  size_ = static_cast<std::uint64_t>(status.st_size);
  if (plan::is_whole(bytes_, size_)) return true;
  unmap();
  return false;
}

bool Plan::open_of(const format::Module& module, const char* directory) {
  const KeptPlan* kept = kept_plan_of(module);
  return kept ? adopt(kept->bytes, kept->size) : open(plan_path(directory, module).c_str());
}

bool Plan::adopt(const char* bytes, std::uint64_t size) {
  bytes_ = bytes;
  size_ = size;
  if (!plan::is_whole(bytes_, size_)) bytes_ = nullptr;
  return bytes_ != nullptr;
}

namespace {

bool is_vdso(const format::Module& module) { return module.begin == getauxval(AT_SYSINFO_EHDR); }

void add_hex(Path& path, unsigned char byte) {
  path.add("0123456789abcdef"[byte >> 4]).add("0123456789abcdef"[byte & 15]);
}

}  // namespace

Path plan_stem(const char* directory, const format::Module& module) {
  Path stem;
  if (module.path == 0) return stem;
  stem.add(directory).add('/');
  if (module.build_id == 0) return stem;
  const auto* id = session.arena.at<format::String>(module.build_id);
  for (std::uint32_t i = 0; i < id->length; ++i) {
    add_hex(stem, static_cast<unsigned char>(id->bytes[i]));
  }
  return stem;
}

Path plan_path(const char* directory, const format::Module& module, const char* suffix) {
  Path path = plan_stem(directory, module), file;
  // It has no file, and nobody but the kernel changes it.
  if (module.build_id != 0 && is_vdso(module)) return path.add(suffix);
  struct stat status;
  if (path.empty() ||
      kernel_path_call(SYS_stat, path_of(module, file), reinterpret_cast<long>(&status)) != 0) {
    return {};
  }
  return path.add(plan::FileMark(status, module.build_id != 0).text).add(suffix);
}

namespace {

struct Job {
  const char* tool;
  const char* const* arguments;
};

// As exec does, but while signals are still blocked. The child's table is its own.
void drop_handlers() {
  KernelAction action;
  for (int number = 1; number < NSIG; ++number) {
    if (kernel_call(SYS_rt_sigaction, number, 0, reinterpret_cast<long>(&action),
                    sizeof action.mask) != 0 ||
        action.handler == SIG_IGN) {
      continue;
    }
    action = {};
    kernel_call(SYS_rt_sigaction, number, reinterpret_cast<long>(&action), 0, sizeof action.mask);
  }
}

// Runs in the child, which shares our memory until it becomes the tool: the program's handlers must
// not run here.
void become_tool(void* argument) {
  const Job& job = *static_cast<const Job*>(argument);
  signal_safe::close_from(3);
  drop_handlers();
  std::uint64_t none = 0;
  kernel_call(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&none), 0, sizeof none);
  const char* environment[] = {nullptr};
  kernel_call(SYS_execve, reinterpret_cast<long>(job.tool), reinterpret_cast<long>(job.arguments),
              reinterpret_cast<long>(environment));
}

// Of the order that is being written. A megabyte, of which only the used part is touched.
Path files[PlanOrder::kMost], modules[PlanOrder::kMost];

void run_tool(const char* tool, const char* const* arguments) {
  constexpr std::uint64_t kStackBytes = 64 << 10;
  static void* stack = nullptr;
  if (!stack) stack = take_memory(kStackBytes, InChild::kCopied);
  if (!stack) return;
  Job job{tool, arguments};
  AllSignalsBlocked guard;
  // Without an exit signal: no handler sees the child's end, and none of the program's waits finds
  // it.
  const long child = fbleprof_start_child(
      CLONE_VM | CLONE_VFORK, static_cast<char*>(stack) + kStackBytes, become_tool, &job);
  if (child <= 0) return;
  int status;
  while (kernel_call(SYS_wait4, child, reinterpret_cast<long>(&status), __WALL, 0) == -EINTR) {
  }
}

}  // namespace

void PlanOrder::add(const Path& file, const Path& module) {
  files[count_] = file;
  modules[count_] = module;
  if (++count_ == kMost) carry_out();
}

void PlanOrder::carry_out() {
  if (count_ == 0) return;
  const char* arguments[2 * kMost + 4] = {tool_, option_};
  int at = 2;
  if (value_) arguments[at++] = value_;
  for (int i = 0; i < count_; ++i) {
    arguments[at++] = files[i].c_str();
    arguments[at++] = modules[i].c_str();
  }
  count_ = 0;
  run_tool(tool_, arguments);
}

}  // namespace fbleprof::capture
