#include "transform/holders.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

namespace fbleprof::transform {

using namespace profile;

namespace {

bool is_stand_in(std::uint16_t flags) { return (flags & format::kFunctionStandIn) != 0; }

std::string_view prefix_of(std::uint16_t flags) {
  return (flags & format::kFunctionHolder) != 0 ? kHeldBy : kWokenBy;
}

// Between the prefix and "]"; empty if the name is not of this form.
std::string_view inside(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix) || !name.ends_with(']')) return {};
  return name.substr(prefix.size(), name.size() - prefix.size() - 1);
}

// A function without a name is known by its address.
std::string name_of(const Profile& profile, std::size_t f) {
  const Functions& functions = profile.functions();
  const std::string_view name = profile.text(functions.name[f]);
  if (!name.empty()) return std::string(name);
  const ModuleId module = functions.module[f];
  if (!module) return fmt::format("{:#x}", functions.address[f]);
  const std::string_view path = profile.text(profile.modules()[module.index()].path);
  return fmt::format("{}+{:#x}", path.substr(path.rfind('/') + 1), functions.address[f]);
}

}  // namespace

std::string_view holder_in(std::string_view name) { return inside(name, kHeldBy); }
std::string_view waker_in(std::string_view name) { return inside(name, kWokenBy); }

Profile with_holders_named(const Profile& profile) {
  const Functions& before = profile.functions();
  if (std::none_of(before.flags.begin(), before.flags.end(), is_stand_in)) return profile;
  StringInterner strings(profile.strings());
  auto functions = std::make_shared<Functions>(before);
  for (std::size_t f = 0; f < before.count(); ++f) {
    if (!is_stand_in(before.flags[f])) continue;
    functions->kind[f] = FunctionKind::kBlock;
    functions->name[f] =
        strings.intern(std::string(prefix_of(before.flags[f])) + name_of(profile, f) + "]");
    functions->linkage_name[f] = functions->file[f] = functions->language[f] = {};
    functions->module[f] = {};
    functions->address[f] = 0;
    functions->size[f] = functions->line[f] = functions->column[f] = 0;
    functions->flags[f] = 0;
    functions->unit[f] = {};
    functions->namesakes[f] = Namesakes::kNotKnown;
  }
  Parts parts = profile.parts();
  parts.strings = std::make_shared<Strings>(strings.take());
  parts.functions = std::move(functions);
  return Profile(std::move(parts));
}

}  // namespace fbleprof::transform
