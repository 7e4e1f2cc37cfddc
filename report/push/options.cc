#include "report/push/options.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <sstream>

namespace fbleprof::push {

namespace po = boost::program_options;

namespace {

using Text = std::string;
using Texts = std::vector<std::string>;

po::options_description named_options() {
  po::options_description options("Options");
  auto add = options.add_options();
  add("format", po::value<Text>()->value_name("F"),
      "pprof, to URL/ingest (Pyroscope), or otlp, to URL/v1development/profiles (OpenTelemetry, "
      "whose signal of profiles is in development). Default: pprof");
  add("name", po::value<Text>()->value_name("APP"), "of the application. Default: the program's");
  add("label", po::value<Texts>()->composing()->value_name("KEY=VALUE"),
      "a label of the profile; repeatable. The profile's own labels and its host are sent too");
  add("since-last", "only what was added since the last push to this URL (of a live profile)");
  add("tenant", po::value<Text>()->value_name("ID"), "X-Scope-OrgID, for servers of many tenants");
  add("timeout", po::value<unsigned>()->value_name("S"), "seconds for each try. Default: 10");
  add("retries", po::value<unsigned>()->value_name("N"),
      "tries after the first where the server is away or busy. Default: 4");
  add("help,h", "this text");
  add("version", "the version");
  return options;
}

Error usage(const std::string& what) {
  return {"fble-prof push", std::nullopt, what, "see fble-prof push --help"};
}

bool is_label_name(const std::string& name, Format format) {
  if (name.empty() || name[0] == '.' || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::all_of(name.begin(), name.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (c == '.' && format == Format::kOtlp);
  });
}

}  // namespace

Result<Url> parse_url(const std::string& text) {
  constexpr std::string_view kHttp = "http://";
  if (text.starts_with("https://")) {
    return usage(text + ": https is not supported: push to a proxy or agent on http://127.0.0.1");
  }
  if (!text.starts_with(kHttp)) return usage(text + ": a URL begins with http://");
  const std::string rest = text.substr(kHttp.size());
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  std::string place = rest.substr(0, slash);
  Url url;
  url.path = rest.substr(slash);
  while (url.path.ends_with('/')) url.path.pop_back();
  const bool harmless =
      std::all_of(text.begin(), text.end(), [](unsigned char c) { return c > ' ' && c < 0x7f; });
  if (!harmless || text.find_first_of("?#@") != std::string::npos) {
    return usage(text + ": no query, user or blanks in the URL");
  }
  const std::size_t bracket = place.starts_with('[') ? place.find(']') : 0;
  if (bracket == std::string::npos) return usage(text + ": a bracket is open");
  const std::size_t colon = place.find(':', bracket);
  url.host = place.substr(0, colon);
  url.port = colon == std::string::npos ? "80" : place.substr(colon + 1);
  if (url.host.starts_with('[')) url.host = url.host.substr(1, url.host.size() - 2);
  const bool is_port = !url.port.empty() && url.port.size() <= 5 &&
                       url.port.find_first_not_of("0123456789") == std::string::npos;
  if (url.host.empty() || !is_port) return usage(text + ": http://HOST[:PORT][/PATH]");
  return url;
}

Result<Options> parse_options(int argc, char** argv) {
  po::options_description all = named_options();
  all.add_options()("place", po::value<Texts>());
  po::positional_options_description positional;
  positional.add("place", -1);
  po::variables_map given;
  Options options;
  try {
    po::store(po::command_line_parser(argc, argv).options(all).positional(positional).run(), given);
    po::notify(given);
  } catch (const po::error& error) {
    return usage(error.what());
  }
  if (given.count("help") != 0) options.action = Options::Action::kHelp;
  if (given.count("version") != 0) options.action = Options::Action::kVersion;
  if (options.action != Options::Action::kPush) return options;
  const Texts places = given.count("place") != 0 ? given["place"].as<Texts>() : Texts();
  if (places.size() != 2) return usage("give a profile and a URL");
  options.file = places[0];
  options.url_text = places[1];
  auto url = parse_url(places[1]);
  if (!url) return url.error();
  options.url = std::move(*url);
  if (given.count("format") != 0) {
    const Text format = given["format"].as<Text>();
    if (format != "pprof" && format != "otlp")
      return usage("--format " + format + ": pprof or otlp");
    if (format == "otlp") options.format = Format::kOtlp;
  }
  if (given.count("name") != 0) options.name = given["name"].as<Text>();
  if (given.count("tenant") != 0) options.tenant = given["tenant"].as<Text>();
  if (options.tenant.find_first_of("\r\n") != std::string::npos) return usage("bad --tenant");
  for (const std::string& label :
       given.count("label") != 0 ? given["label"].as<Texts>() : Texts()) {
    const std::size_t equals = label.find('=');
    if (equals == std::string::npos || !is_label_name(label.substr(0, equals), options.format)) {
      return usage("--label " + label + ": KEY=VALUE, the key of letters, digits and _" +
                   (options.format == Format::kOtlp ? " and ." : ""));
    }
    options.labels.emplace_back(label.substr(0, equals), label.substr(equals + 1));
  }
  options.since_last = given.count("since-last") != 0;
  if (given.count("timeout") != 0) options.timeout_s = given["timeout"].as<unsigned>();
  if (given.count("retries") != 0) options.retries = given["retries"].as<unsigned>();
  if (options.timeout_s == 0 || options.timeout_s > 3600) return usage("--timeout: 1 to 3600");
  if (options.retries > 100) return usage("--retries: 0 to 100");
  return options;
}

std::string help_text() {
  std::ostringstream text;
  text << "fble-prof push [options] FILE URL\n"
          "Sends a profile to a server: Pyroscope, or a collector of OpenTelemetry.\n\n"
       << named_options()
       << "\nExamples:\n"
          "  fble-prof push mlmon.out http://127.0.0.1:4040\n"
          "  fble-prof push --since-last --label env=staging mlmon.out http://profiles:4040\n"
          "  fble-prof push --format otlp mlmon.out http://127.0.0.1:4318\n\n"
          "A server takes 4 MiB and 16,000 samples: the cheapest contexts are charged to their\n"
          "callers until the profile fits, and a line says so.\n\n"
          "Exit status: 0 sent, or nothing new to send; 1 the server refused it or could not be\n"
          "reached; 2 wrong options, or a profile that cannot be read.\n";
  return text.str();
}

}  // namespace fbleprof::push
