// The request to a server, without sending it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fbleprof::push {

struct Upload {
  std::string name;  // of the application
  std::vector<std::pair<std::string, std::string>> labels;
  std::uint64_t from_s = 0, until_s = 0;  // since 1970
  std::uint32_t rate_hz = 0;              // 0 = unknown
  std::string profile;                    // gzipped
  // The profile's names of what it measures, and the units: ns, bytes, count.
  std::vector<std::pair<std::string, std::string>> sample_types;
};

struct Request {
  std::string url;  // with path and query
  std::string content_type;
  std::string content_encoding;  // "" = none
  std::string body;
};

// "app{key=value,...}" in the server's syntax: special characters become '_'.
std::string application_name(const std::string& name,
                             const std::vector<std::pair<std::string, std::string>>& labels);

// Everything except letters, digits and -._~ as %XX.
std::string percent_encode(std::string_view text);

// Pyroscope's: a form with the fields `profile` and `sample_type_config`. `server` is its URL, to
// which /ingest is added.
Request ingest_request(const std::string& server, const Upload& upload);

// OTLP's over HTTP: the profile itself. `server` is the URL before /v1development/profiles.
Request otlp_post(const std::string& server, const Upload& upload);

}  // namespace fbleprof::push
