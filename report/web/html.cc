#include "report/web/html.h"

#include <fmt/format.h>

#include <algorithm>

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
