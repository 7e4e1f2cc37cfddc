#include "report/cli/options.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <boost/program_options.hpp>
#include <cstdlib>
#include <iomanip>
#include <sstream>

#include "report/exporters/exporter.h"
#include "report/text/quantity.h"

namespace fbleprof::report {

namespace po = boost::program_options;

namespace {

constexpr unsigned kColumns = 80;
constexpr unsigned kDescriptionColumns = 54;

using Text = std::string;
using Texts = std::vector<std::string>;

po::options_description view_options() {
  po::options_description options("What to show (default: the tree of contexts)", kColumns,
                                  kDescriptionColumns);
  auto add = options.add_options();
  add("self", "a table of functions by what each costs itself");
  add("dominated", "a table of functions by all paths that each stands on; a path counts once");
  add("block", po::value<Text>()->value_name("NAME"),
      "one function from all sides: who calls it and what that costs, what it calls, [self]");
  add("path", po::value<Text>()->value_name("A,B,C"),
      "a sequence of calls: the cost of each step, what goes in, what goes out");
  add("hot", "the dearest path, down to where it forks");
  add("overview", "one screen: what ran, where the cost is, recursion, threads, losses");
  add("cliques", po::value<Text>()->value_name("[=context]"),
      "recursion: functions that call each other in a circle as one entry, its members inside; "
      "=context: calls by the chain of cliques above them");
  add("edges", "every caller and callee with exact calls and cost: the call graph");
  add("by", po::value<Text>()->value_name("WHAT"),
      "a table of modules: module, file, namespace or class; or of runs: thread, process, host, "
      "rank or label:KEY");
  add("annotate", po::value<Text>()->value_name("NAME"),
      "the self cost of a function by source line and by instruction, inlined functions unfolded "
      "(needs FBLEPROF_LEAVES=1)");
  add("source", "with --annotate: lines only");
  add("asm", "with --annotate: instructions only");
  add("call-sites", po::value<Text>()->value_name("[=NAME]"),
      "every place that calls, with file:line, calls and cost (all with FBLEPROF_CALLSITES=1); "
      "with =NAME only calls of and by NAME");
  add("coverage", po::value<Text>()->value_name("[=NAME]"),
      "functions that have a hook and were never entered; CSV and JSON: all that have one");
  add("summary", "what ran, how it was recorded, what was lost");
  add("threads", "a row a thread");
  add("verify", "check every invariant of the file, a line each; status 1 if one is broken");
  add("raw", "every record of the file");
  add("export", po::value<Text>()->value_name("FORMAT"),
      "for other tools, see below; with all filters");
  return options;
}

po::options_description filter_options() {
  po::options_description options(
      "Of what (NAME: exact, a glob, re:REGEX, module:GLOB or file:GLOB; repeatable)", kColumns,
      kDescriptionColumns);
  auto add = options.add_options();
  add("select", po::value<Texts>()->composing()->value_name("NAME"),
      "only paths that hold NAME; of several, all of them");
  add("exclude", po::value<Texts>()->composing()->value_name("NAME"), "no path that holds NAME");
  add("keep", po::value<Texts>()->composing()->value_name("QUERY"),
      "only what the query says: and, or, not, from(X), to(X), pred(X), succ(X), at(X), "
      "path(a,b..c), self > 1%, dominated >= 10ms, calls > 1000 (docs/QUERY.md)");
  add("fold", po::value<Texts>()->composing()->value_name("NAME"),
      "take NAME out of all paths and charge it to its caller: a → NAME → y is a → y");
  add("metric", po::value<Text>()->value_name("M"),
      "cpu, wall, calls, samples, ticks, overhead or what else the file holds. Default: its clock");
  add("inlines",
      "show inlined functions as callees (needs debug info, and FBLEPROF_LEAVES=1 for "
      "their cost)");
  add("leaves", "show sampled addresses as callees, not as self time");
  add("no-symbols", "look up no names: module+0xoffset");
  return options;
}

po::options_description input_options() {
  po::options_description options("From what (- is stdin)", kColumns, kDescriptionColumns);
  auto add = options.add_options();
  add("tolerant", "skip files that cannot be read, with a line each");
  add("split-by", po::value<Texts>()->composing()->value_name("WHAT"),
      "keep apart: process, host, thread, label:KEY or file; repeatable, outermost first");
  add("diff", po::value<Texts>()->composing()->value_name("BASE"),
      "compare with this profile; the tree, or with --self or --dominated a table");
  add("normalize", "scale the base to the same total");
  add("times-from", po::value<Texts>()->composing()->value_name("PLAIN"),
      "contexts and calls as here, times as in this profile of the program without hooks; "
      "repeatable");
  add("fail-if", po::value<Texts>()->composing()->value_name("RULE"),
      "with --diff: status 1 if more changed than '[+|-]NUMBER[%|UNIT] METRIC [self|dominated] "
      "[in NAME]' allows, e.g. '+5% ticks in parse*'; repeatable");
  return options;
}

po::options_description look_options() {
  po::options_description options("How", kColumns, kDescriptionColumns);
  auto add = options.add_options();
  add("depth", po::value<std::size_t>()->value_name("N"), "levels of the tree. Default: what fits");
  add("min", po::value<double>()->value_name("PERCENT"),
      "hide branches of the tree below this share. Default: 1");
  add("all", "hide nothing");
  add("top", po::value<std::size_t>()->value_name("N"), "rows of a table. Default: 40; CSV: all");
  add("sort", po::value<Text>()->value_name("KEY"),
      "self, dominated, calls, per-call, name; edges: cost, calls, caller, callee");
  add("unit", po::value<Text>()->value_name("U"), "auto, ns, us, ms, s; B, KiB, MiB, GiB");
  add("lines", "file:line beside names");
  add("format", po::value<Text>()->value_name("F"),
      "text, json or csv. The last two hold raw numbers: ns, bytes, counts");
  add("colour", po::value<Text>()->value_name("WHEN"),
      "auto, always or never. Default: auto, and NO_COLOR is obeyed");
  add("color", po::value<Text>()->value_name("WHEN"), "the same as --colour");
  add("width", po::value<std::size_t>()->value_name("N"),
      "columns; 0 = unlimited. Default: the terminal's, or COLUMNS, or 120");
  add("output,o", po::value<Text>()->value_name("FILE"), "write there. Default: stdout");
  add("help,h", "this text");
  add("version", "the version");
  return options;
}

po::options_description named_options() {
  po::options_description options;
  options.add(view_options()).add(filter_options()).add(input_options()).add(look_options());
  return options;
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

std::string choose_view(const po::variables_map& given, Options& options) {
  const std::pair<const char*, View> views[] = {
      {"self", View::kSelf},
      {"dominated", View::kDominated},
      {"block", View::kBlock},
      {"edges", View::kEdges},
      {"call-sites", View::kCallSites},
      {"coverage", View::kCoverage},
      {"annotate", View::kAnnotate},
      {"by", View::kRollup},
      {"summary", View::kSummary},
      {"threads", View::kThreads},
      {"verify", View::kVerify},
      {"raw", View::kRaw},
      {"export", View::kExport},
      {"path", View::kPath},
      {"cliques", View::kCliques},
      {"hot", View::kHot},
      {"overview", View::kOverview},
  };
  std::string chosen;
  for (const auto& [name, view] : views) {
    if (given.count(name) == 0) continue;
    if (!chosen.empty()) return "--" + chosen + " and --" + name + " are two views: take one";
    chosen = name;
    options.view = view;
  }
  if (given.count("call-sites") != 0) options.call_sites = given["call-sites"].as<Text>();
  if (given.count("coverage") != 0) options.coverage = given["coverage"].as<Text>();
  if (given.count("annotate") != 0) options.annotate = given["annotate"].as<Text>();
  if (given.count("source") + given.count("asm") != 0) {
    if (options.view != View::kAnnotate) return "--source and --asm belong to --annotate";
    if (given.count("asm") == 0) options.annotate_by = AnnotateBy::kSource;
    if (given.count("source") == 0) options.annotate_by = AnnotateBy::kInstructions;
  }
  if (given.count("block") != 0) options.block = given["block"].as<Text>();
  if (given.count("output") != 0) options.output = given["output"].as<Text>();
  if (given.count("export") != 0) {
    options.export_format = given["export"].as<Text>();
    if (auto found = find_exporter(options.export_format); !found) return found.error().line();
  }
  if (given.count("path") != 0) options.path = given["path"].as<Text>();
  if (given.count("cliques") != 0) {
    const Text how = given["cliques"].as<Text>();
    if (how == "context") {
      options.view = View::kCliqueContexts;
    } else if (how != "whole") {
      return "--cliques=" + how + ": nothing, or context";
    }
  }
  return {};
}

// Boost takes "-3" for a very large number.
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
  if (given.count("min") != 0) look.min_percent = given["min"].as<double>();
  if (!(look.min_percent >= 0 && look.min_percent <= 100)) return "--min is a share: 0 to 100";
  if (given.count("top") != 0) {
    look.top = given["top"].as<std::size_t>();
    if (look.top == 0) return "--top 0: 1 or more";
  }
  look.all = given.count("all") != 0;
  look.lines = given.count("lines") != 0;
  if (given.count("sort") != 0) look.sort = given["sort"].as<Text>();
  bool known_sort = look.sort.empty();
  for (const char* key :
       {"self", "dominated", "total", "calls", "per-call", "name", "cost", "caller", "callee"}) {
    known_sort |= look.sort == key;
  }
  if (!known_sort) return "--sort " + look.sort + ": no such order";
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

// Options whose value may be left out take it behind "=" alone: what follows may be a file.
std::vector<std::string> with_optional_values(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  for (std::string& argument : arguments) {
    if (argument == "--") break;
    if (argument == "--call-sites") argument += "=*";
    if (argument == "--coverage") argument += "=*";
    if (argument == "--cliques") argument += "=whole";
  }
  return arguments;
}

}  // namespace

std::string help_text() {
  std::ostringstream text;
  text << "fble-prof-report [options] [mlmon.out ...]\n"
          "Shows where a profiled program's time, calls and memory went, in which context.\n"
          "Without a name it reads mlmon.out; several files are summed. Profiles of others are\n"
          "read as well: perf script's text, folded stacks, pprof, gmon.out with its program.\n\n"
       << view_options() << "\n"
       << filter_options() << "\n"
       << input_options() << "\n"
       << look_options() << "\nFormats of --export:\n";
  for (const Exporter& exporter : exporters()) {
    text << "  " << std::left << std::setw(12) << exporter.name << exporter.description << "\n";
  }
  text << "\n"
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
          "Exit status: 0 shown, 1 --verify found a broken invariant or --fail-if a broken rule,\n"
          "2 could not be read or done, or was asked for wrongly.\n";
  return text.str();
}

Result<Options> parse_options(int argc, char** argv) {
  Options options;
  po::options_description all = named_options();
  all.add_options()("file", po::value<Texts>());
  po::positional_options_description positional;
  positional.add("file", -1);
  po::variables_map given;
  try {
    po::store(po::command_line_parser(with_optional_values(argc, argv))
                  .options(all)
                  .positional(positional)
                  .run(),
              given);
    po::notify(given);
  } catch (const po::error& error) {
    return usage(error.what());
  }
  if (given.count("help") != 0) {
    options.view = View::kHelp;
    return options;
  }
  if (given.count("version") != 0) {
    options.view = View::kVersion;
    return options;
  }
  if (std::string bad = choose_view(given, options); !bad.empty()) return usage(bad);
  if (std::string bad = read_look(given, options.look); !bad.empty()) return usage(bad);
  const auto texts = [&](const char* name) {
    return given.count(name) != 0 ? given[name].as<Texts>() : Texts();
  };
  if (std::string bad = check_numbers({argv + 1, argv + argc}); !bad.empty()) return usage(bad);
  options.files = texts("file");
  if (options.files.empty()) options.files.push_back("mlmon.out");
  options.filter = {texts("select"), texts("exclude"), texts("fold")};
  options.filter.keep = texts("keep");
  const bool about_runs = options.view == View::kSummary || options.view == View::kThreads ||
                          options.view == View::kRaw || options.view == View::kVerify;
  if (about_runs && !options.filter.empty()) {
    return Error{
        "fble-prof-report", std::nullopt,
        "--select, --exclude, --fold and --keep choose contexts; this view shows whole runs",
        "take another view; by thread: --by thread"};
  }
  if (options.view == View::kRaw && options.look.format != Format::kText) {
    return usage("--raw is text, a record a line: no --format");
  }
  if (options.view == View::kCoverage && !options.filter.empty()) {
    return usage(
        "--coverage is of whole runs, not of contexts: --coverage=NAME for some functions");
  }
  if (options.view == View::kCoverage && given.count("no-symbols") != 0) {
    return usage("--coverage knows functions by their symbols: not with --no-symbols");
  }
  options.tolerant = given.count("tolerant") != 0;
  options.normalize = given.count("normalize") != 0;
  options.baselines = texts("diff");
  options.times_from = texts("times-from");
  if (!options.times_from.empty() &&
      (!options.baselines.empty() || options.view == View::kSummary ||
       options.view == View::kThreads || options.view == View::kRaw ||
       options.view == View::kVerify || options.view == View::kCoverage)) {
    return usage("--times-from is for views of contexts and functions, without --diff");
  }
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
  if (options.baselines.empty() && (options.normalize || !options.limits.empty())) {
    return usage("--normalize and --fail-if compare: say with what by --diff BASE");
  }
  const bool shows_pairs = options.view == View::kEdges || options.view == View::kCallSites;
  for (const char* key : {"cost", "caller", "callee"}) {
    if (options.look.sort != key || shows_pairs) continue;
    return usage("--sort " + options.look.sort +
                 " is for --edges and --call-sites; else: self, dominated, calls, per-call, name");
  }
  const bool compares = options.view == View::kTree || options.view == View::kSelf ||
                        options.view == View::kDominated;
  if (!options.baselines.empty() && !compares) {
    return usage("--diff shows the tree, --self or --dominated");
  }
  if (given.count("metric") != 0) options.metric = given["metric"].as<Text>();
  options.inlines = given.count("inlines") != 0;
  options.leaves = given.count("leaves") != 0;
  options.symbols = given.count("no-symbols") == 0;
  if (given.count("by") != 0) {
    options.rollup = given["by"].as<Text>();
    if (!is_rollup(options.rollup)) {
      return usage("--by " + options.rollup +
                   ": module, file, namespace, class, thread, process, host, rank or label:KEY");
    }
    if (!options.splits.empty()) {
      return usage("--by is a table, --split-by splits the tree: take one");
    }
  }
  return options;
}

}  // namespace fbleprof::report
