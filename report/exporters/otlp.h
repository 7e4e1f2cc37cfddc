// OTLP, the protocol of OpenTelemetry: its profiles signal, which is in development.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "report/exporters/exporter.h"

namespace fbleprof::report {

// Facts about the program that the profile does not hold.
struct OtlpResource {
  std::string service;  // service.name; "" = the program's name
  std::vector<std::pair<std::string, std::string>> attributes;  // come before the profile's own
  std::uint64_t from_ns = 0, until_ns = 0;  // since 1970; 0 = as the profile has it
};

// An ExportProfilesServiceRequest with one profile per metric, the chosen metric's first.
std::string otlp_request(const Export& input, const OtlpResource& resource);

}  // namespace fbleprof::report
