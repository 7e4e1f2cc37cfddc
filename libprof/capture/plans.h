// The plans by which modules are rewritten (plan/plan.h): finds them, and has missing ones made.
//
// A plan takes a second for each three megabytes of code, so it is made once and kept, under the
// build-id. It is made by another process: nothing of it is loaded into the program.
#pragma once

#include <cstdint>

#include "capture/text.h"
#include "format/format.h"
#include "plan/plan.h"

namespace fbleprof::capture {

// A plan file, mapped. Its header is checked, and its parts lie within the file.
class Plan {
 public:
  Plan() = default;
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  // False: there is none, or it is not of this version.
  bool open(const char* path);
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
  const char* bytes_ = nullptr;
  std::uint64_t size_ = 0;
};

// Where the plan of a module is, or should be. Empty: the module cannot have one.
Path plan_path(const char* directory, const format::Module& module);

// Has the plans of these modules made, by `tool`. Waits for it; the program does not learn of it.
constexpr int kMostPlans = 128;
struct PlanOrder {
  const char* paths[2 * kMostPlans];  // plan, module, ...
  int count = 0;                      // of pairs
};
void make_plans(const char* tool, const PlanOrder& order);

}  // namespace fbleprof::capture
