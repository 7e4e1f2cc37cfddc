#include "report/web/function_names.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/text/escape.h"
#include "report/web/html.h"

namespace fbleprof::web {

using namespace profile;
using report::Names;
using report::Pieces;

namespace {

constexpr std::size_t kLongestTitle = 2000;  // bytes of a name on hover

}  // namespace

FunctionNames::FunctionNames(const Page& page, std::vector<FunctionId> shown, std::size_t width)
    : page_(page), state_(html_text(state_of(page.query))) {
  if (!state_.empty()) state_.replace(0, 5, "?");  // "&amp;"
  std::sort(shown.begin(), shown.end());
  shown.erase(std::unique(shown.begin(), shown.end()), shown.end());
  std::erase(shown, FunctionId());
  const Names names = Names(page.data.profile()).marked(shown);
  std::vector<Pieces> lines;
  for (const FunctionId function : shown) lines.push_back({{{}, function}});
  const std::vector<std::string> texts = names.fit(lines, width);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    labels_[static_cast<std::uint32_t>(shown[i].index())] = texts[i];
  }
}

const std::string& FunctionNames::label(FunctionId function) const {
  static const std::string kNothing;
  const auto it = labels_.find(static_cast<std::uint32_t>(function.index()));
  return it == labels_.end() ? kNothing : it->second;
}

std::string FunctionNames::whole(FunctionId function) const {
  std::string name = report::whole_name(page_.data.profile(), function);
  return name.size() > kLongestTitle ? report::cut(name, kLongestTitle) : name;
}

bool FunctionNames::is_function(FunctionId function) const {
  const Functions& functions = page_.data.profile().functions();
  return functions.kind[function.index()] != FunctionKind::kRoot &&
         !functions.group[function.index()] && page_.data.source().stable_id(function) != 0;
}

std::string FunctionNames::link(FunctionId function) const {
  const std::string& text = label(function);
  if (!is_function(function)) return fmt::format("<span class=fn>{}</span>", html_name(text));
  const std::string whole = this->whole(function);
  return fmt::format("<a class=fn href=\"{}/block/{}{}\"{}>{}</a>", page_.site.is_file ? "#" : "",
                     page_.data.source().id(function), state_,
                     whole == text ? "" : fmt::format(" title=\"{}\"", html_text(whole)),
                     html_name(text));
}

std::string FunctionNames::buttons(FunctionId function, std::string_view beside) const {
  if (page_.site.is_file || !is_function(function)) return {};
  const std::string id = page_.data.source().id(function);
  return fmt::format(
      "<span class=acts><button form=lists name=sel value={0} title=\"only paths through it (+)\">+"
      "</button><button form=lists name=exc value={0} title=\"no path through it (-)\">−</button>"
      "<button form=lists name=fold value={0} title=\"charge it to its callers (~)\">~</button>{1}"
      "</span>",
      id, beside);
}

std::string FunctionNames::row(FunctionId function) const {
  return is_function(function) ? fmt::format(" data-id={}", page_.data.source().id(function))
                               : std::string();
}

}  // namespace fbleprof::web
