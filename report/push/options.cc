#include "report/push/options.h"

#include <curl/curl.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <memory>
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
  add("name", po::value<Text>()->value_name("APP"),
      "name of the application. Default: the program's name");
  add("label", po::value<Texts>()->composing()->value_name("KEY=VALUE"),
      "a label of the profile; repeatable. The profile's own labels and its host are sent too");
  add("since-last", "only what was added since the last push to this URL (of a live profile)");
  add("tenant", po::value<Text>()->value_name("ID"), "X-Scope-OrgID, for servers of many tenants");
  add("timeout", po::value<unsigned>()->value_name("S"), "seconds for each try. Default: 10");
  add("retries", po::value<unsigned>()->value_name("N"),
      "further tries if the server cannot be reached or is busy. Default: 4");
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

Result<std::string> server_url(const std::string& text) {
  if (!text.starts_with("http://") && !text.starts_with("https://")) {
    return usage(text + ": a URL begins with http:// or https://");
  }
  const bool harmless =
      std::all_of(text.begin(), text.end(), [](unsigned char c) { return c > ' ' && c < 0x7f; });
  if (!harmless || text.find_first_of("?#") != std::string::npos) {
    return usage(text + ": a URL here has no query, fragment or blanks");
  }
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> parts(curl_url(), curl_url_cleanup);
  if (const CURLUcode bad = curl_url_set(parts.get(), CURLUPART_URL, text.c_str(), 0)) {
    return usage(text + ": " + curl_url_strerror(bad));
  }
  char* user = nullptr;
  if (curl_url_get(parts.get(), CURLUPART_USER, &user, 0) == CURLUE_OK) {
    curl_free(user);
    // Other users can see a command line.
    return usage("a URL with a user: write user and password to ~/.netrc");
  }
  return text.substr(0, text.find_last_not_of('/') + 1);
}

Result<Options> parse_options(int argc, char** argv) {
  po::options_description all = named_options();
  all.add_options()("place", po::value<Texts>());
  po::positional_options_description positional;
  positional.add("place", -1);
  po::variables_map given;
  Options options;
  try {
    // Not abbreviated, as in the other commands: a new option could change what "--r" means.
    const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    po::store(
        po::command_line_parser(argc, argv).options(all).style(style).positional(positional).run(),
        given);
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
  auto server = server_url(places[1]);
  if (!server) return server.error();
  options.server = std::move(*server);
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
          "  fble-prof push --since-last --label env=staging mlmon.out https://profiles.example\n"
          "  fble-prof push --format otlp mlmon.out http://127.0.0.1:4318\n\n"
          "Credentials come from ~/.netrc, proxies from http_proxy, https_proxy and no_proxy.\n"
          "Servers accept at most 4 MiB and 16,000 samples: the cheapest contexts are charged to "
          "their\n"
          "callers until the profile fits, and a line says so.\n\n"
          "Exit status: 0 sent, or nothing new to send; 1 the server refused it or could not be\n"
          "reached; 2 wrong options, or a profile that cannot be read.\n";
  return text.str();
}

}  // namespace fbleprof::push
