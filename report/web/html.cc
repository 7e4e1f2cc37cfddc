#include "report/web/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace fbleprof::web {

std::string html_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string html_name(std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> kParts[] = {
      {"::", "::<wbr>"},
      {"<…>", "<span class=nb>&lt;…&gt;</span>"},
      {"(…)", "<span class=nb>(…)</span>"}};
  std::string out;
  std::size_t done = 0;
  for (std::size_t at = 0; at < name.size();) {
    const auto part = std::find_if(std::begin(kParts), std::end(kParts), [&](const auto& one) {
      return name.substr(at).starts_with(one.first);
    });
    if (part == std::end(kParts)) {
      ++at;
      continue;
    }
    out += html_text(name.substr(done, at - done));
    out += part->second;
    at += part->first.size();
    done = at;
  }
  return out + html_text(name.substr(done));
}

std::string json_for_script(std::string_view json) {
  std::string out;
  out.reserve(json.size() + json.size() / 64);
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else if (c == '>') {
      out += "\\u003e";
    } else {
      out += c;
    }
  }
  return out;
}

std::string bar(double percent, std::string_view kind) {
  return fmt::format(
      "<svg class=\"bar{}{}\" viewBox=\"0 0 100 1\" preserveAspectRatio=none aria-hidden=true>"
      "<rect width={:.1f} height=1 /></svg>",
      kind.empty() ? "" : " ", kind, std::clamp(percent, 0.0, 100.0));
}

}  // namespace fbleprof::web
