#include "profile/metric_roles.h"

#include <iterator>

namespace fbleprof::profile {
namespace {

using format::Role;

struct Known {
  std::string_view name, unit;
  Role role;
};
constexpr Known kKnown[] = {
    {"cpu", "ns", Role::kCpuTime},        {"wall", "ns", Role::kWallTime},
    {"overhead", "ns", Role::kOwnCost},   {"calls", "count", Role::kCalls},
    {"samples", "count", Role::kSamples}, {"ticks", "count", Role::kVirtualTime}};

}  // namespace

Role role_for_name(std::string_view name, std::string_view unit) {
  for (const Known& known : kKnown) {
    if (known.name == name && known.unit == unit) return known.role;
  }
  return Role::kAmount;
}

}  // namespace fbleprof::profile
