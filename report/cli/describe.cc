#include "report/cli/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "report/cli/options.h"
#include "report/exporters/exporter.h"
#include "report/views/view.h"

namespace fbleprof::report {
namespace {

// In roff a plain hyphen is printed as a minus sign.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '-' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string formats() {
  std::string names;
  for (const Exporter& exporter : exporters()) {
    names += (names.empty() ? "" : " ") + std::string(exporter.name);
  }
  return names;
}

// "[=NAME]" is optional; "NAME" is a separate argument.
bool is_optional(const View& view) { return view.value.starts_with("["); }

// As a sentence.
std::string sentence(std::string_view help) {
  std::string text = roff(help) + ".";
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

std::string man_views() {
  std::string out;
  for (const View& view : views()) {
    std::string name(view.value);
    std::erase_if(name, [](char c) { return c == '[' || c == ']' || c == '='; });
    out += ".TP\n";
    if (view.value.empty()) {
      out += fmt::format(".B \\-\\-{}\n", roff(view.name));
    } else if (is_optional(view)) {
      out += fmt::format(".BR \\-\\-{} [=\\fI{}\\fR]\n", roff(view.name), name);
    } else {
      out += fmt::format(".BI \\-\\-{} \" {}\"\n", roff(view.name), name);
    }
    out += view.manual.empty() ? sentence(view.help) : std::string(view.manual);
    out += "\n";
  }
  return out;
}

std::string man_exporters() {
  std::string out;
  for (const Exporter& exporter : exporters()) {
    out += fmt::format(".RS\n.TP\n.B {}\n{}\n.RE\n", exporter.name, roff(exporter.description));
  }
  return out;
}

std::string_view long_name(const OptionHelp& option) {
  return option.name.substr(0, option.name.find(','));
}

std::string bash_options() {
  std::string out;
  const auto add = [&](std::string_view name, bool takes_value) {
    out += fmt::format("{}--{}{}", out.empty() ? "" : " ", name, takes_value ? "=" : "");
  };
  for (const View& view : views()) {
    add(view.name, !view.value.empty() && !is_optional(view));
    for (const ViewOption& option : view.options) add(option.name, false);
  }
  add("export", true);
  for (const OptionGroup& group : option_groups()) {
    for (const OptionHelp& option : group.options) add(long_name(option), !option.value.empty());
  }
  return out;
}

std::string bash_values() {
  std::string out;
  const auto add = [&](std::string_view name, std::string_view words) {
    if (!words.empty()) out += fmt::format("    --{}) values='{}' ;;\n", name, words);
  };
  for (const View& view : views()) add(view.name, view.words);
  add("export", formats());
  std::string files, nothing;
  for (const OptionGroup& group : option_groups()) {
    for (const OptionHelp& option : group.options) {
      add(long_name(option), option.words);
      if (option.value.empty() || !option.words.empty()) continue;
      std::string& to = option.is_file ? files : nothing;
      to += fmt::format("{}--{}", to.empty() ? "" : " | ", long_name(option));
    }
  }
  out += fmt::format("    {} | -o)\n      _filedir\n      return\n      ;;\n", files);
  return out + fmt::format("    {}) return ;;\n", nothing);
}

// In zsh, brackets, colons and quotes have a meaning in a description.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':') out += '\\';
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out;
}

std::string zsh_options() {
  std::string out;
  const auto line = [&](const std::string& argument) {
    out += fmt::format("  '{}' \\\n", argument);
  };
  const auto action = [](std::string_view words, bool is_file) {
    if (is_file) return std::string("_files");
    return words.empty() ? " " : fmt::format("({})", zsh_text(words));
  };
  for (const View& view : views()) {
    std::string name(view.value);
    std::erase_if(name, [](char c) { return c == '[' || c == ']' || c == '='; });
    const std::string help = zsh_text(view.help);
    if (view.value.empty()) {
      line(fmt::format("--{}[{}]", view.name, help));
    } else {
      line(fmt::format("--{}={}[{}]:{}{}:{}", view.name, is_optional(view) ? "-" : "", help,
                       is_optional(view) ? ":" : "", zsh_text(name), action(view.words, false)));
    }
    for (const ViewOption& option : view.options) {
      line(fmt::format("--{}[{}]", option.name, zsh_text(option.help)));
    }
  }
  line(fmt::format("--export=[write for another tool]:format:({})", formats()));
  for (const OptionGroup& group : option_groups()) {
    for (const OptionHelp& option : group.options) {
      const std::string help = zsh_text(option.help);
      const char* many = option.kind == OptionHelp::Kind::kTexts ? "*" : "";
      const std::string value =
          option.value.empty()
              ? ""
              : fmt::format(":{}:{}", zsh_text(option.value), action(option.words, option.is_file));
      const char* equals = option.value.empty() ? "" : "=";
      line(fmt::format("{}--{}{}[{}]{}", many, long_name(option), equals, help, value));
      if (const std::size_t comma = option.name.find(','); comma != std::string_view::npos) {
        line(fmt::format("-{}{}[{}]{}", option.name.substr(comma + 1),
                         option.value.empty() ? "" : "+", help, value));
      }
    }
  }
  return out;
}

}  // namespace

Result<std::string> fill_in(const std::string& text) {
  struct Filling {
    std::string_view name;
    std::string (*make)();
  };
  constexpr Filling kFillings[] = {{"MAN_VIEWS", man_views},
                                   {"MAN_EXPORTERS", man_exporters},
                                   {"BASH_OPTIONS", bash_options},
                                   {"BASH_VALUES", bash_values},
                                   {"ZSH_OPTIONS", zsh_options}};
  std::string out;
  for (std::size_t at = 0;;) {
    const std::size_t open = text.find('@', at);
    const std::size_t close =
        open == std::string::npos ? std::string::npos : text.find('@', open + 1);
    const std::string_view name = close == std::string::npos
                                      ? std::string_view()
                                      : std::string_view(text).substr(open + 1, close - open - 1);
    if (name.empty()) return out + text.substr(at);
    const auto* filling = std::find_if(std::begin(kFillings), std::end(kFillings),
                                       [&](const Filling& f) { return f.name == name; });
    if (filling == std::end(kFillings)) {
      return Error{"", open, fmt::format("nothing is called @{}@", name), "see describe.h"};
    }
    out += text.substr(at, open - at) + filling->make();
    // Paragraphs end with a line of their own.
    at = close + 1;
    if (out.ends_with('\n') && at < text.size() && text[at] == '\n') ++at;
  }
}

}  // namespace fbleprof::report
