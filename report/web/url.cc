#include "report/web/url.h"

namespace fbleprof::web {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Nothing: a '%' without two digits, or a NUL.
std::optional<std::string> decoded(std::string_view text, bool plus_is_blank) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '+' && plus_is_blank) c = ' ';
    if (c == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_value(text[i + 1]), low = hex_value(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (c == '\0') return std::nullopt;
    out += c;
  }
  return out;
}

}  // namespace

std::string_view Target::get(std::string_view name) const {
  for (const auto& [key, value] : parameters) {
    if (key == name) return value;
  }
  return {};
}

std::optional<Target> parse_target(std::string_view text) {
  if (text.empty() || text.front() != '/') return std::nullopt;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= ' ' || c == '\x7f') return std::nullopt;
  }
  text = text.substr(0, text.find('#'));
  const std::size_t question = text.find('?');
  auto path = decoded(text.substr(0, question), false);
  if (!path) return std::nullopt;
  Target target{std::move(*path), {}};
  if (question == std::string_view::npos) return target;
  std::string_view rest = text.substr(question + 1);
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    if (one.empty()) continue;
    const std::size_t equals = one.find('=');
    auto name = decoded(one.substr(0, equals), true);
    auto value = decoded(equals == std::string_view::npos ? "" : one.substr(equals + 1), true);
    if (!name || !value) return std::nullopt;
    target.parameters.emplace_back(std::move(*name), std::move(*value));
  }
  return target;
}

std::string percent_encoded(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') ||
                          std::string_view("-._~:,*").find(c) != std::string_view::npos;
    if (is_plain) {
      out += c;
    } else {
      out += '%';
      out += kDigits[static_cast<unsigned char>(c) >> 4];
      out += kDigits[static_cast<unsigned char>(c) & 15];
    }
  }
  return out;
}

}  // namespace fbleprof::web
