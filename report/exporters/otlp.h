// OTLP, the protocol of OpenTelemetry: its signal of profiles, which is in development.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "report/exporters/exporter.h"

namespace fbleprof::report {

// What is said of the program beside what the profile says.
struct OtlpResource {
  std::string service;  // service.name; "" = the program's name
  std::vector<std::pair<std::string, std::string>> attributes;  // come before the profile's own
  std::uint64_t from_ns = 0, until_ns = 0;  // since 1970; 0 = as the profile has it
};

// An ExportProfilesServiceRequest. Its profiles are one a metric, the chosen metric's first.
std::string otlp_request(const Export& input, const OtlpResource& resource);

}  // namespace fbleprof::report
