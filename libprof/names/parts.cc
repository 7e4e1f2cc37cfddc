#include "names/parts.h"

#include "names/name_scan.h"

namespace fbleprof::names {

namespace {

// Whether the name of an operator begins at `at`: "operator<", "operator bool", "operator new".
bool is_operator_at(std::string_view name, std::size_t at) {
  constexpr std::string_view kOperator = "operator";
  if (name.compare(at, kOperator.size(), kOperator) != 0) return false;
  if (at > 0 && is_name_character(name[at - 1])) return false;
  const std::size_t behind = at + kOperator.size();
  return behind < name.size() && !is_name_character(name[behind]) && name[behind] != ':';
}

// `name` up to its parameter list, without template arguments and without what precedes the name (a
// return type). The brackets of operators do not begin lists.
std::string plain(std::string_view name) {
  std::string out;
  int angle = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (angle == 0 && c == 'o' && is_operator_at(name, i)) {
      out += "operator";  // the rest names no scope
      break;
    }
    if (c == '<') {
      ++angle;
      continue;
    }
    if (c == '>') {
      if (angle > 0) --angle;
      continue;
    }
    if (angle > 0) continue;
    if (c == '(') {
      constexpr std::string_view kAnonymous = "(anonymous namespace)";
      if (!name.substr(i).starts_with(kAnonymous)) break;
      out += "(anonymous)";
      i += kAnonymous.size() - 1;
      continue;
    }
    if (name.substr(i).starts_with(" [")) break;  // "a::f [resume]"
    if (c == ' ') {
      out.clear();  // a return type, or "virtual thunk to"
      continue;
    }
    out += c;
  }
  return out;
}

}  // namespace

std::string scope_of(std::string_view name) {
  // Rust: "<alloc::vec::Vec<T> as core::ops::Drop>::drop" belongs to the first type.
  if (name.starts_with('<')) {
    int depth = 0;
    for (std::size_t i = 0; i < name.size(); ++i) {
      if (name[i] == '<') ++depth;
      if (name[i] == '>') --depth;
      const bool at_end = depth == 0 || (depth == 1 && name.substr(i).starts_with(" as "));
      if (!at_end) continue;
      const std::string type = plain(name.substr(1, i - 1));
      if (!type.empty()) return type;
      break;
    }
  }
  const std::string whole = plain(name);
  const std::size_t end = whole.rfind("::");
  return end == std::string::npos ? std::string() : whole.substr(0, end);
}

std::string outermost_scope_of(std::string_view name) {
  const std::string scope = scope_of(name);
  return scope.substr(0, scope.find("::"));
}

std::string_view without_parameters(std::string_view name) {
  // From the end: skip " const", " &", "[clone .cold]" up to the last ')', then to its '('.
  const std::size_t close = name.rfind(')');
  if (close == std::string_view::npos) return name;
  int depth = 0;
  for (std::size_t i = close + 1; i-- > 0;) {
    if (name[i] == ')') ++depth;
    if (name[i] != '(' || --depth != 0) continue;
    const std::string_view head = name.substr(0, i);
    // "operator()" without parameters and "(anonymous namespace)::f" are names, not lists.
    if (head.empty() || head.ends_with("operator") || head.ends_with("::")) return name;
    return head;
  }
  return name;
}

// The function of a place: "f+0x1f" -> "f", "g (f+0x1f)" -> "g".
std::string_view function_of_place(std::string_view name) {
  const std::size_t offset = name.rfind("+0x");
  if (offset == std::string_view::npos) return name;
  if (!name.ends_with(')')) return name.substr(0, offset);
  std::string_view inlined = without_parameters(name);
  while (inlined.ends_with(' ')) inlined.remove_suffix(1);
  return inlined;
}

// "int geo::spin<a::b>(int)" -> "spin".
std::string_view unqualified(std::string_view name) {
  name = without_parameters(name);
  for (std::size_t at = name.find("operator"); at != std::string_view::npos;
       at = name.find("operator", at + 1)) {
    if (is_operator_at(name, at)) return name.substr(at);
  }
  if (name.ends_with('>')) {
    int depth = 0;
    for (std::size_t i = name.size(); i-- > 0;) {
      if (name[i] == '>') ++depth;
      if (name[i] != '<' || --depth != 0) continue;
      name = name.substr(0, i);
      break;
    }
  }
  const std::size_t scope = name.find_last_of(": ");
  return scope == std::string_view::npos ? name : name.substr(scope + 1);
}

}  // namespace fbleprof::names
