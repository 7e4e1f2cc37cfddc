// Finds the plans by which modules are rewritten (plan/plan.h), and has missing ones made.
//
// Making a plan takes a second for each three megabytes of code, so plans are made once and kept,
// under the file's build-id, length and time. Another process makes them, so that none of that code
// is loaded into the program.
#pragma once

#include <sys/stat.h>

#include <cstdint>

#include "capture/text.h"
#include "format/format.h"
#include "plan/plan.h"
#include "signal_safe/trampolines.h"

namespace fbleprof::capture {

// A plan file, mapped. Its header is checked, and its parts lie within the file.
class Plan {
 public:
  Plan() = default;
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  // False: there is no plan, or it has another version.
  bool open(const char* path);
  // The plan that was kept for the module, else the one in the folder.
  bool open_of(const format::Module& module, const char* directory);
  // A plan in memory that stays.
  bool adopt(const char* bytes, std::uint64_t size);
  explicit operator bool() const { return bytes_ != nullptr; }

  const plan::Header& header() const { return *reinterpret_cast<const plan::Header*>(bytes_); }
  const plan::Trampoline* trampolines() const {
    return reinterpret_cast<const plan::Trampoline*>(bytes_ + sizeof(plan::Header));
  }
  const plan::Site* sites() const {
    return reinterpret_cast<const plan::Site*>(trampolines() + header().trampolines);
  }
  const plan::Refusal* refusals() const {
    return reinterpret_cast<const plan::Refusal*>(sites() + header().sites);
  }

 private:
  void unmap();

  const char* bytes_ = nullptr;
  std::uint64_t size_ = 0;
  bool is_mapped_ = false;  // by us
};

// A plan that fble-prof has put into our memory (format/recorder_order.h). Forked children need it,
// too.
inline constexpr int kMostKeptPlans = 2 * signal_safe::Trampolines::kMost;
struct KeptPlan {
  std::uint64_t module_begin = 0;
  const char* bytes = nullptr;
  std::uint64_t size = 0;
};
// Keeps it in place of another plan for that address. False: there are too many.
bool keep_plan(const KeptPlan& plan);

// The beginning of a plan's path: the folder and the module's build-id. Empty: it has no file.
Path plan_stem(const char* directory, const format::Module& module);
// The path of a module's plan, which may not exist yet. Empty: the module cannot have one.
Path plan_path(const char* directory, const format::Module& module, const char* suffix = ".plan");

// Makes a tool write files about modules, and waits for it: `TOOL OPTION [VALUE] FILE MODULE
// [FILE MODULE ...]`. The program does not notice. There is no limit: when an order is full, it is
// carried out.
class PlanOrder {
 public:
  static constexpr int kMost = 128;

  // `value` may be null: the option has none.
  PlanOrder(const char* tool, const char* option, const char* value)
      : tool_(tool), option_(option), value_(value) {}
  ~PlanOrder() { carry_out(); }
  PlanOrder(const PlanOrder&) = delete;
  PlanOrder& operator=(const PlanOrder&) = delete;

  void add(const Path& file, const Path& module);

 private:
  void carry_out();

  const char *tool_, *option_, *value_;
  int count_ = 0;
};

// Whether a file that says what to do with the program's code belongs to this user, or root, and
// nobody else may write to it.
bool is_trusted(const struct stat& status);

}  // namespace fbleprof::capture
