// The user's options of fble-prof push.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace fbleprof::push {

// "http[s]://HOST[:PORT][/PATH]", without trailing slashes: a server's own path is added to it.
// Fails on anything else, also on a URL with a user, a query or a fragment.
Result<std::string> server_url(const std::string& text);

// The protocol of the upload, and the servers that take it.
enum class Format {
  kPprof,  // Pyroscope's /ingest
  kOtlp,   // OpenTelemetry's protocol, over HTTP
};

struct Options {
  enum class Action { kPush, kHelp, kVersion } action = Action::kPush;
  std::string file;
  std::string server;    // its URL, without slashes at the end
  std::string url_text;  // as the user typed it
  Format format = Format::kPprof;
  std::string name;  // of the application; "" = the program's
  std::vector<std::pair<std::string, std::string>> labels;
  std::string tenant;  // X-Scope-OrgID; "" = none
  bool since_last = false;
  unsigned timeout_s = 10;  // of one try
  unsigned retries = 4;     // after the first try
};

Result<Options> parse_options(int argc, char** argv);
std::string help_text();

}  // namespace fbleprof::push
