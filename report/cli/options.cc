#include "report/cli/options.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cstdlib>
#include <initializer_list>
#include <iomanip>
#include <sstream>

#include "report/cli/directories.h"
#include "report/text/quantity.h"
#include "report/text/words.h"
#include "transform/idle.h"

namespace fbleprof::report {

namespace po = boost::program_options;

namespace {

constexpr unsigned kColumns = 80;
constexpr unsigned kDescriptionColumns = 54;

using Text = std::string;
using Texts = std::vector<std::string>;
using OptionKind = OptionHelp::Kind;

constexpr std::string_view kPatterns = "re: module: file:";

}  // namespace

const std::vector<OptionGroup>& option_groups() {
  static const std::vector<OptionGroup> groups = {
      {"Filters (NAME: exact, a glob, re:REGEX, module:GLOB or file:GLOB; repeatable)",
       {{"select", "NAME", "only paths that contain NAME; repeated: paths that contain all",
         kPatterns, OptionKind::kTexts},
        {"exclude", "NAME", "no path that contains NAME", kPatterns, OptionKind::kTexts},
        {"busy", "",
         "without the waits of threads that have nothing to do: --exclude '[idle]' (--waits marks "
         "these waits)"},
        {"keep", "QUERY",
         "only contexts that match: and, or, not, from(X), to(X), pred(X), succ(X), at(X), "
         "path(a,b..c), self > 1%, dominated >= 10ms, calls > 1000 (docs/QUERY.md)",
         "from( to( pred( succ( at( path( not", OptionKind::kTexts},
        {"fold", "NAME",
         "take NAME out of all paths and charge it to its caller: a → NAME → y becomes a → y",
         kPatterns, OptionKind::kTexts},
        {"metric", "M",
         "cpu, wall, calls, samples, ticks, overhead or another metric of the file, such as wait, "
         "time, allocated, live, peak, leaked (--metrics lists them). Default: the file's clock",
         "cpu wall calls samples ticks overhead allocated live peak leaked wait time",
         OptionKind::kText},
        {"inlines", "",
         "show inlined functions as callees (needs debug info, and a profile recorded with "
         "--leaves for their cost)"},
        {"leaves", "", "show sampled addresses as callees, not as self time"},
        {"no-symbols", "", "do not look up names: show module+0xoffset"}}},
      {"Files and windows (- is stdin)",
       {{"tolerant", "", "skip files that cannot be read, with a line each"},
        {"children", "",
         "also read the profiles of FILE's child processes: those that are named after it and "
         "began later"},
        {"split-by", "WHAT",
         "keep apart: process, host, thread, label:KEY or file; repeatable, outermost first",
         "thread process host file label:", OptionKind::kTexts},
        {"diff", "BASE",
         "compare with this profile; the tree, or with --self or --dominated a table. Several runs "
         "of each, --diff A1,A2,A3 B1,B2,B3: their means; differences within chance are no "
         "changes. BASE@A..B: a window of BASE; @A..B: a window of the same file",
         "", OptionKind::kTexts, true},
        {"window", "A..B",
         "only the costs between two snapshots (--windows lists them): names, #NUMBER, peak, or "
         "times as 10s, or -10s before the end. A.. and ..B leave one side open. A wait counts as "
         "a whole where it ends",
         "", OptionKind::kText},
        {"since", "A", "the same as --window A..", "", OptionKind::kText},
        {"normalize", "", "scale the base to the same total"},
        {"times-from", "PLAIN",
         "contexts and calls of FILE, times of this profile of the program without hooks; "
         "repeatable",
         "", OptionKind::kTexts, true},
        {"fail-if", "RULE",
         "with --diff: exit status 1 if a change exceeds '[+|-]NUMBER[%|UNIT] METRIC "
         "[self|dominated] [in NAME]', e.g. '+5% ticks in parse*'; repeatable",
         "", OptionKind::kTexts}}},
      {"Instead of a view",
       {{"pack", "",
         "put the functions' names into the profile, so that it can be read on other machines and "
         "after a rebuild; with -o FILE, into a copy"},
        {"trim", "", "cut off unused space that a killed program had reserved in its profile"}}},
      {"In a browser",
       {{"serve", "[=HOST:PORT]",
         "show all views as pages, and follow running programs; accepts directories, too. "
         "Default: 127.0.0.1 and a free port. Prints the link",
         "", OptionKind::kText}}},
      {"Output",
       {{"depth", "N", "levels of the tree. Default: as many as fit", "", OptionKind::kCount},
        {"min", "PERCENT",
         "hide branches below this share. Default: 1, or more until the tree fits a screen",
         "0.1 0.5 1 5", OptionKind::kNumber},
        {"all", "", "hide nothing"},
        {"top", "N", "rows of a table. Default: 40; CSV: all", "10 20 100", OptionKind::kCount},
        {"sort", "KEY",
         "self, dominated, calls, per-call, name; edges: cost, calls, caller, callee",
         "self dominated calls per-call name cost caller callee", OptionKind::kText},
        {"unit", "U", "auto, ns, us, ms, s; B, KiB, MiB, GiB", "auto ns us ms s B KiB MiB GiB",
         OptionKind::kText},
        {"lines", "", "show file:line beside names"},
        {"format", "F", "text, json or csv. json and csv hold raw numbers: ns, bytes, counts",
         "text json csv", OptionKind::kText},
        {"colour", "WHEN", "auto, always or never. Default: auto, and NO_COLOR is obeyed",
         "auto always never", OptionKind::kText},
        {"color", "WHEN", "the same as --colour", "auto always never", OptionKind::kText},
        {"width", "N", "columns; 0 = unlimited. Default: COLUMNS, or the terminal's, or 120", "",
         OptionKind::kCount},
        {"output,o", "FILE", "write to FILE. Default: stdout", "", OptionKind::kText, true},
        {"help,h", "", "show this text"},
        {"version", "", "show the version"}}}};
  return groups;
}

namespace {

const char* title_of(View::Topic topic) {
  switch (topic) {
    case View::Topic::kOverview:
      return "Views: where to begin";
    case View::Topic::kFunctions:
      return "Functions";
    case View::Topic::kCalls:
      return "Calls";
    case View::Topic::kGroups:
      return "Groups";
    case View::Topic::kCode:
      return "Code";
    case View::Topic::kRuns:
      return "Runs and files";
  }
  return "";
}

void add(po::options_description& to, std::string_view name, po::value_semantic* value,
         std::string_view help) {
  const std::string text(name), description(help);
  if (value != nullptr) {
    to.add_options()(text.c_str(), value, description.c_str());
  } else {
    to.add_options()(text.c_str(), description.c_str());
  }
}

// The views by topic, and --export.
std::vector<po::options_description> view_options() {
  std::vector<po::options_description> all;
  for (const View& view : views()) {
    const std::string title = title_of(view.topic);
    if (all.empty() || &view == &views().front() || (&view)[-1].topic != view.topic) {
      all.emplace_back(title, kColumns, kDescriptionColumns);
    }
    po::value_semantic* value = nullptr;
    if (!view.value.empty()) value = po::value<Text>()->value_name(std::string(view.value));
    add(all.back(), view.name, value, view.help);
    for (const ViewOption& option : view.options)
      add(all.back(), option.name, nullptr, option.help);
  }
  all.emplace_back("For other tools", kColumns, kDescriptionColumns);
  add(all.back(), "export", po::value<Text>()->value_name("FORMAT"),
      "export in one of the formats below, after all filters");
  return all;
}

std::vector<po::options_description> other_options() {
  std::vector<po::options_description> all;
  for (const OptionGroup& group : option_groups()) {
    all.emplace_back(std::string(group.title), kColumns, kDescriptionColumns);
    for (const OptionHelp& option : group.options) {
      const std::string value(option.value);
      po::value_semantic* semantic = nullptr;
      if (option.kind == OptionKind::kText) semantic = po::value<Text>()->value_name(value);
      if (option.kind == OptionKind::kTexts) {
        semantic = po::value<Texts>()->composing()->value_name(value);
      }
      if (option.kind == OptionKind::kCount) {
        semantic = po::value<std::size_t>()->value_name(value);
      }
      if (option.kind == OptionKind::kNumber) semantic = po::value<double>()->value_name(value);
      add(all.back(), option.name, semantic, option.help);
    }
  }
  return all;
}

Error usage(const std::string& what) {
  return {"fble-prof-report", std::nullopt, what, "see fble-prof-report --help"};
}

std::size_t terminal_width() {
  if (const char* columns = std::getenv("COLUMNS"); columns != nullptr) {
    const unsigned long value = std::strtoul(columns, nullptr, 10);
    if (value >= 20 && value <= 10000) return value;
  }
  winsize size;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20) return size.ws_col;
  return 120;
}

bool wants_colour() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return isatty(STDOUT_FILENO) != 0 && (no_colour == nullptr || *no_colour == '\0') &&
         !(terminal != nullptr && std::string_view(terminal) == "dumb");
}

// Selects the view or export; returns why the selection is invalid, or "".
std::string choose_view(const po::variables_map& given, Options& options) {
  std::string chosen;
  const auto choose = [&](std::string_view name) {
    if (given.count(std::string(name)) == 0) return std::string();
    if (!chosen.empty()) return fmt::format("--{} and --{} are two views: take one", chosen, name);
    chosen = name;
    return std::string();
  };
  for (const View& view : views()) {
    if (std::string bad = choose(view.name); !bad.empty()) return bad;
    if (chosen == view.name) options.view = &view;
  }
  if (std::string bad = choose("export"); !bad.empty()) return bad;
  if (given.count("serve") != 0) {
    if (!chosen.empty()) return fmt::format("--serve has all views: not with --{}", chosen);
    options.serve = given["serve"].as<Text>();
    options.action = Options::Action::kServe;
    return {};
  }
  if (chosen == "export") {
    auto exporter = find_exporter(given["export"].as<Text>());
    if (!exporter) return exporter.error().line();
    options.exporter = *exporter;
    options.action = Options::Action::kExport;
    return {};
  }
  if (options.view == nullptr) options.view = &default_view();
  const View& view = *options.view;
  if (!view.value.empty()) options.value = given[std::string(view.name)].as<Text>();
  if (view.check != nullptr) {
    if (std::string bad = view.check(options.value); !bad.empty()) return bad;
  }
  for (const View& other : views()) {
    for (const ViewOption& option : other.options) {
      if (given.count(std::string(option.name)) == 0) continue;
      if (&other != &view) return fmt::format("--{} goes with --{}", option.name, other.name);
      options.view_options.emplace_back(option.name);
    }
  }
  return {};
}

// How views look.
constexpr auto kLook = {"sort", "top", "depth", "min", "all", "lines", "format", "unit"};

// The first of the options that was given, with dashes; "" if none was.
std::string first_given(const po::variables_map& given,
                        std::initializer_list<const char*> options) {
  for (const char* option : options) {
    if (given.count(option) != 0) return fmt::format("--{}", option);
  }
  return {};
}

// "depth min" -> "--depth --min".
std::string with_dashes(std::string_view words) {
  std::string text = "--" + std::string(words);
  for (std::size_t at = 0; (at = text.find(' ', at)) != std::string::npos; at += 3) {
    text.insert(at + 1, "--");
  }
  return text;
}

// Why what is done instead of showing a view does not go with the options; "" if it does.
std::string check_other_action(const Options& options, const po::variables_map& given) {
  if (options.action == Options::Action::kExport) {
    for (const char* option : kLook) {
      if (given.count(option) == 0 || has_word(options.exporter->limits, option)) continue;
      const std::string_view limits = options.exporter->limits;
      return fmt::format("--{} is for views: --export {} {}", option, options.exporter->name,
                         limits.empty() ? "has one form" : "takes " + with_dashes(limits));
    }
    return {};
  }
  std::string other;
  for (const View& view : views()) {
    if (given.count(std::string(view.name)) != 0) other = fmt::format("--{}", view.name);
  }
  if (other.empty()) {
    other = first_given(given, {"export", "serve", "select", "exclude", "keep", "fold", "busy",
                                "metric", "split-by", "diff", "window", "since", "times-from"});
  }
  if (other.empty()) other = first_given(given, kLook);
  if (other.empty()) return {};
  return fmt::format("{} changes whole files: not with {}",
                     options.action == Options::Action::kPack ? "--pack" : "--trim", other);
}

// The requested options that the view does not take; "" if it takes all.
std::string check_view(const Options& options, const po::variables_map& given) {
  const View& view = *options.view;
  const std::string name = fmt::format("--{}", view.name);
  if (!view.is_of_contexts() && !options.filter.empty()) {
    return fmt::format(
        "--select, --exclude, --fold and --keep choose contexts; {} shows whole runs{}", name,
        view.value.empty() ? "" : fmt::format(": {}=NAME for some of it", name));
  }
  if (!view.is_of_contexts() && view.subject != View::Subject::kWholeTree &&
      given.count("metric") != 0) {
    return fmt::format("--metric chooses what contexts cost; {} shows whole runs", name);
  }
  if (view.has_own_metrics && given.count("metric") != 0) {
    return fmt::format("--metric: {} has figures of its own: leave it out", name);
  }
  if (!options.splits.empty() && !view.is_of_contexts()) {
    return fmt::format("--split-by puts groups into trees; {} shows whole runs", name);
  }
  if (view.print != nullptr && options.look.format != Format::kText) {
    return name + " is text, one record per line: it has no --format";
  }
  if (view.wants_symbols && given.count("no-symbols") != 0) {
    return name + " knows functions by their symbols: not with --no-symbols";
  }
  if (!options.window.is_whole() && !view.is_of_contexts() &&
      view.subject != View::Subject::kWholeTree) {
    return fmt::format("--window chooses what contexts cost; {} shows whole runs", name);
  }
  if (!options.times_from.empty() && (!options.baselines.empty() || !view.is_of_contexts())) {
    return "--times-from is for views of contexts and functions, without --diff";
  }
  if (!options.baselines.empty() && view.compare == nullptr) {
    std::string comparing;
    for (const View& other : views()) {
      if (other.compare != nullptr) comparing += fmt::format(" --{}", other.name);
    }
    return "--diff shows one of" + comparing;
  }
  for (const char* limit : {"top", "min", "depth"}) {
    if (given.count(limit) == 0 || has_word(view.limits, limit)) continue;
    if (view.limits.empty())
      return fmt::format("--{}: {} has no such limit: leave it out", limit, name);
    return fmt::format("--{}: {} takes {}", limit, name, with_dashes(view.limits));
  }
  const std::string& sort = options.look.sort;
  const bool compares = !options.baselines.empty();
  const std::string_view orders = view.sort_keys_if(compares);
  if (!sort.empty() && orders.empty()) {
    return fmt::format("--sort {}: {}{} has one order only: leave --sort out", sort, name,
                       compares ? " with --diff" : "");
  }
  if (!sort.empty() && !has_word(orders, sort)) {
    return fmt::format("--sort {}: {}{} takes {}", sort, name, compares ? " with --diff" : "",
                       orders);
  }
  return {};
}

// Boost reads "-3" as a very large number.
std::string check_numbers(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    for (const std::string name : {"--depth", "--top", "--width"}) {
      const std::string& argument = arguments[i];
      const bool is_apart = argument == name && i + 1 < arguments.size();
      const std::string value = is_apart ? arguments[i + 1]
                                : argument.starts_with(name + "=")
                                    ? argument.substr(name.size() + 1)
                                    : "";
      const char* least = name == "--top" ? ": 1 or more" : ": 0 or more";
      if (value.starts_with("-")) return name + " " + value + least;
    }
  }
  return {};
}

std::string read_look(const po::variables_map& given, Look& look) {
  look.width = given.count("width") != 0 ? given["width"].as<std::size_t>() : terminal_width();
  if (look.width != 0 && look.width < 40) look.width = 40;
  if (given.count("depth") != 0) look.depth = given["depth"].as<std::size_t>();
  if (given.count("min") != 0) {
    look.min_percent = look.min_for_programs = given["min"].as<double>();
  }
  look.fits_screen = given.count("min") == 0 && given.count("depth") == 0;
  if (!(look.min_percent >= 0 && look.min_percent <= 100)) return "--min is a share: 0 to 100";
  if (given.count("top") != 0) {
    look.top = given["top"].as<std::size_t>();
    if (look.top == 0) return "--top 0: 1 or more";
  }
  look.all = given.count("all") != 0;
  look.lines = given.count("lines") != 0;
  if (given.count("sort") != 0) look.sort = given["sort"].as<Text>();
  if (given.count("unit") != 0) look.unit = given["unit"].as<Text>();
  if (!is_known_unit(look.unit)) return "--unit " + look.unit + ": no such unit";
  if (given.count("format") != 0) {
    const Text format = given["format"].as<Text>();
    if (format == "json") {
      look.format = Format::kJson;
    } else if (format == "csv") {
      look.format = Format::kCsv;
    } else if (format != "text") {
      return "--format " + format + ": text, json or csv";
    }
  }
  std::string colour = "auto";
  for (const char* name : {"color", "colour"}) {
    if (given.count(name) != 0) colour = given[name].as<Text>();
  }
  if (colour != "auto" && colour != "always" && colour != "never") {
    return "--colour " + colour + ": auto, always or never";
  }
  look.colour = colour == "always" || (colour == "auto" && wants_colour());
  return {};
}

// Boost reads "-10s" as an option.
void join_times(std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i + 1 < arguments.size() && arguments[i] != "--"; ++i) {
    const std::string& value = arguments[i + 1];
    const bool is_time = value.size() > 1 && value[0] == '-' && value[1] >= '0' && value[1] <= '9';
    if (!is_time || (arguments[i] != "--since" && arguments[i] != "--window")) continue;
    arguments[i] += "=" + value;
    arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
}

// Options with an optional value take it only after "=": the next word may be a file.
std::vector<std::string> with_optional_values(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  join_times(arguments);
  for (std::string& argument : arguments) {
    if (argument == "--") break;
    if (argument == "--serve") argument += "=127.0.0.1:0";
    for (const View& view : views()) {
      if (!view.implied.empty() && argument == fmt::format("--{}", view.name)) {
        argument += fmt::format("={}", view.implied);
        break;
      }
    }
  }
  return arguments;
}

// Reads --window and --since; returns why they are invalid, or "".
std::string read_window(const po::variables_map& given, Options& options) {
  if (given.count("window") + given.count("since") > 1) return "--window or --since: take one";
  if (given.count("since") != 0) options.window.from = given["since"].as<Text>();
  if (given.count("window") == 0) return {};
  auto span = transform::parse_span(given["window"].as<Text>());
  if (!span) return "--window: " + span.error().line();
  options.window = std::move(*span);
  return {};
}

// "FILE@A..B", unless that is a file's name, is a window of a baseline; "@A..B" is one of `files`.
std::string read_base_window(Options& options) {
  if (options.baselines.size() != 1) return {};
  const std::string base = options.baselines[0];
  const std::size_t at = base.rfind('@');
  if (at == std::string::npos || access(base.c_str(), F_OK) == 0) return {};
  if (at != 0 && base.find("..", at) == std::string::npos) return {};
  auto span = transform::parse_span(std::string_view(base).substr(at + 1));
  if (!span) return "--diff " + base + ": " + span.error().line();
  options.base_window = std::move(*span);
  options.baselines = at == 0 ? options.files : std::vector<std::string>{base.substr(0, at)};
  return {};
}

// "A1,A2,A3", unless that is a file's name, is several runs: says whether it was.
bool split_runs(std::vector<std::string>& files) {
  if (files.size() != 1 || files[0].find(',') == std::string::npos) return false;
  if (access(files[0].c_str(), F_OK) == 0) return false;
  const std::string all = files[0];
  files.clear();
  for (std::size_t begin = 0; begin <= all.size();) {
    const std::size_t end = std::min(all.find(',', begin), all.size());
    if (end != begin) files.push_back(all.substr(begin, end - begin));
    begin = end + 1;
  }
  return files.size() > 1;
}

}  // namespace

std::string help_text() {
  std::ostringstream text;
  text << "fble-prof-report [options] [mlmon.out ...]\n"
          "Shows where a profiled program's time, calls and memory went, in which context.\n"
          "Without a name it reads mlmon.out, and the profiles of programs that replaced the\n"
          "first by exec. Several files are summed. It also reads the text of perf script,\n"
          "folded stacks, pprof, speedscope, and gmon.out with its program.\n\n";
  for (const auto& group : view_options()) text << group << "\n";
  for (const auto& group : other_options()) text << group << "\n";
  text << "Formats of --export:\n";
  for (const Exporter& exporter : exporters()) {
    text << "  " << std::left << std::setw(12) << exporter.name << exporter.description << "\n";
  }
  text
      << "\n"
         "Examples:\n"
         "  fble-prof ./prog                      # writes mlmon.out\n"
         "  fble-prof-report                      # the tree of contexts\n"
         "  fble-prof-report --self --top 10\n"
         "  fble-prof-report --block 'parse*' --select main\n"
         "  fble-prof-report --keep 'parse and not path(main, load)' --hot\n"
         "  fble-prof-report --path main,eval,lookup\n"
         "  fble-prof-report --edges --format csv mlmon.out* > calls.csv\n"
         "  fble-prof-report --export pprof -o prog.pb.gz\n"
         "  perf script | fble-prof-report -\n"
         "  fble-prof-report gmon.out ./prog\n"
         "  fble-prof-report --diff old.out --fail-if '+5% ticks in parse*' new.out\n\n"
         "Exit status: 0, shown; 1, --verify found a broken invariant or --fail-if a broken rule;\n"
         "2, a file could not be read, or an option is wrong.\n";
  return text.str();
}

Result<Options> parse_options(int argc, char** argv) {
  Options options;
  po::options_description all;
  for (const auto& group : view_options()) all.add(group);
  for (const auto& group : other_options()) all.add(group);
  all.add_options()("file", po::value<Texts>());
  po::positional_options_description positional;
  positional.add("file", -1);
  po::variables_map given;
  try {
    // Options may not be abbreviated: what is done to them before they are parsed knows whole
    // names.
    const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    po::store(po::command_line_parser(with_optional_values(argc, argv))
                  .options(all)
                  .style(style)
                  .positional(positional)
                  .run(),
              given);
    po::notify(given);
  } catch (const po::error& error) {
    return usage(error.what());
  }
  if (given.count("help") != 0) {
    options.action = Options::Action::kHelp;
    return options;
  }
  if (given.count("version") != 0) {
    options.action = Options::Action::kVersion;
    return options;
  }
  if (std::string bad = choose_view(given, options); !bad.empty()) return usage(bad);
  if (std::string bad = read_look(given, options.look); !bad.empty()) return usage(bad);
  const auto texts = [&](const char* name) {
    return given.count(name) != 0 ? given[name].as<Texts>() : Texts();
  };
  if (std::string bad = check_numbers({argv + 1, argv + argc}); !bad.empty()) return usage(bad);
  options.files = texts("file");
  options.names_no_file = options.files.empty();
  if (options.names_no_file) options.files.push_back("mlmon.out");
  const std::size_t named = options.files.size();
  const std::string first = options.files[0];
  options.files = with_directories_read(options.files);
  if (named == 1 && options.files[0] != first) options.directory = first;
  if (given.count("children") != 0) {
    if (given.count("diff") != 0) return usage("--children: not with --diff, which compares files");
    options.files = with_children(options.files);
  }
  options.filter = {texts("select"), texts("exclude"), texts("fold")};
  options.filter.keep = texts("keep");
  options.busy = given.count("busy") != 0;
  if (options.busy) options.filter.exclude.emplace_back(transform::kIdle);
  if (given.count("output") != 0) options.output = given["output"].as<Text>();
  // A directory may hold files of other versions.
  options.tolerant = given.count("tolerant") != 0 || options.files.size() > named;
  options.normalize = given.count("normalize") != 0;
  options.baselines = texts("diff");
  if (std::string bad = read_window(given, options); !bad.empty()) return usage(bad);
  if (std::string bad = read_base_window(options); !bad.empty()) return usage(bad);
  if (!options.baselines.empty()) {
    options.are_runs = split_runs(options.files);
    options.are_base_runs = split_runs(options.baselines);
    // "$A,$B", neither of which is set.
    if (options.files.empty() || options.baselines.empty()) {
      return usage("--diff: a list of runs that names no file");
    }
  }
  options.times_from = texts("times-from");
  for (const Text& text : texts("split-by")) {
    auto split = transform::parse_split(text);
    if (!split) return usage(split.error().line());
    options.splits.push_back(std::move(*split));
  }
  for (const Text& text : texts("fail-if")) {
    auto limit = parse_limit(text);
    if (!limit) return limit.error();
    options.limits.push_back(std::move(*limit));
  }
  if (given.count("pack") != 0) options.action = Options::Action::kPack;
  if (given.count("trim") != 0) options.action = Options::Action::kTrim;
  if (given.count("pack") + given.count("trim") > 1) {
    return usage("--pack and --trim: a packed profile is trimmed, too");
  }
  if (options.action != Options::Action::kShow && options.action != Options::Action::kServe) {
    if (std::string bad = check_other_action(options, given); !bad.empty()) return usage(bad);
  }
  if (options.view != nullptr) {
    if (std::string bad = check_view(options, given); !bad.empty()) return usage(bad);
  } else if (options.action == Options::Action::kServe) {
    if (!options.filter.empty() || !options.times_from.empty() || !options.limits.empty() ||
        !options.window.is_whole() || !options.base_window.is_whole()) {
      return usage("--serve takes files and --diff BASE: pages have the rest");
    }
    std::string look = first_given(given, {"metric", "split-by", "output"});
    if (look.empty()) look = first_given(given, kLook);
    if (!look.empty()) {
      return usage(
          fmt::format("{}: --serve takes files and --diff BASE: pages have the rest", look));
    }
  } else if (!options.baselines.empty()) {
    return usage("--diff compares in a view: not with --export");
  }
  if (options.baselines.empty() && (options.normalize || !options.limits.empty())) {
    return usage("--normalize and --fail-if compare: say with what by --diff BASE");
  }
  if (given.count("metric") != 0) options.metric = given["metric"].as<Text>();
  options.inlines = given.count("inlines") != 0;
  options.leaves = given.count("leaves") != 0;
  options.symbols = given.count("no-symbols") == 0;
  return options;
}

}  // namespace fbleprof::report
