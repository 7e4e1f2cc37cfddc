#include "transform/holders.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

namespace fbleprof::transform {

using namespace profile;

namespace {

bool is_holder(std::uint16_t flags) { return (flags & format::kFunctionHolder) != 0; }

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

std::string_view holder_in(std::string_view name) {
  if (!name.starts_with(kHeldBy) || !name.ends_with(']')) return {};
  return name.substr(kHeldBy.size(), name.size() - kHeldBy.size() - 1);
}

Profile with_holders_named(const Profile& profile) {
  const Functions& before = profile.functions();
  if (std::none_of(before.flags.begin(), before.flags.end(), is_holder)) return profile;
  StringInterner strings(profile.strings());
  auto functions = std::make_shared<Functions>(before);
  for (std::size_t f = 0; f < before.count(); ++f) {
    if (!is_holder(before.flags[f])) continue;
    functions->kind[f] = FunctionKind::kBlock;
    functions->name[f] = strings.intern(std::string(kHeldBy) + name_of(profile, f) + "]");
    functions->linkage_name[f] = functions->file[f] = functions->language[f] = {};
    functions->module[f] = {};
    functions->address[f] = 0;
    functions->size[f] = functions->line[f] = functions->column[f] = 0;
    functions->flags[f] = 0;
  }
  Parts parts = profile.parts();
  parts.strings = std::make_shared<Strings>(strings.take());
  parts.functions = std::move(functions);
  return Profile(std::move(parts));
}

}  // namespace fbleprof::transform
