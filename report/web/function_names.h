// Functions on a page: unambiguous shortened names, links, and buttons for the lists.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "report/text/names.h"
#include "report/web/site.h"

namespace fbleprof::web {

class FunctionNames {
 public:
  // For the functions on the page, in at most `width` columns each.
  FunctionNames(const Page& page, std::vector<profile::FunctionId> shown, std::size_t width = 72);

  // The display name. Not escaped for HTML.
  const std::string& label(profile::FunctionId function) const;
  // The name as far as it is shown on hover. Not escaped for HTML.
  std::string whole(profile::FunctionId function) const;
  // A link to the function's page; the whole name on hover.
  std::string link(profile::FunctionId function) const;
  // Buttons that put it on a list, with other HTML beside them. Empty for groups and the root, and
  // in files.
  std::string buttons(profile::FunctionId function, std::string_view beside = {}) const;
  // Attributes of the function's row, for the keyboard.
  std::string row(profile::FunctionId function) const;

 private:
  bool is_function(profile::FunctionId function) const;

  const Page& page_;
  std::string state_;
  std::unordered_map<std::uint32_t, std::string> labels_;
};

}  // namespace fbleprof::web
