// The built-in files of the page.
#pragma once

#include <span>
#include <string_view>

namespace fbleprof::web {

struct Asset {
  std::string_view name;
  std::string_view text;
};
// All files of report/web/page/, by name.
std::span<const Asset> assets();
// Null: there is no file of that name.
const Asset* find_asset(std::string_view name);
// The modules as one script, for a page in one file; and the hashes that permit it and the style in
// the page's policy: hexadecimal.
extern const std::string_view kWholeScript, kWholeScriptSha256, kStyleSha256;

}  // namespace fbleprof::web
