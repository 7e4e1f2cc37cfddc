// The messages of pprof's profile.proto as plain structs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace fbleprof::importers::pprof {

struct ValueType {
  std::uint64_t type = 0, unit = 0;  // strings
};

struct Mapping {
  std::uint64_t start = 0, limit = 0, offset = 0;
  std::uint64_t file = 0, build_id = 0;  // strings
};

struct Line {
  std::uint64_t function = 0;  // its id
  std::int64_t line = 0;
};

struct Location {
  std::uint64_t mapping = 0;  // its id; 0 = none
  std::uint64_t address = 0;
  std::vector<Line> lines;  // innermost first
};

struct Function {
  std::uint64_t name = 0, system_name = 0, file = 0;  // strings
  std::int64_t start_line = 0;
};

struct Label {
  std::uint64_t key = 0, text = 0, unit = 0;  // strings
  std::int64_t number = 0;
};

struct Sample {
  std::vector<std::uint64_t> locations;  // ids, innermost first
  std::vector<std::int64_t> values;
  std::vector<Label> labels;
};

// Everything except the samples, which are many and read one by one.
struct Message {
  std::vector<ValueType> sample_types;
  std::vector<std::pair<std::uint64_t, std::string_view>> samples;  // offset and bytes
  std::vector<Mapping> mappings;
  std::vector<Location> locations;
  std::vector<Function> functions;
  std::unordered_map<std::uint64_t, std::uint32_t> mapping_index, location_index,
      function_index;  // by id
  std::vector<std::string_view> strings;
  std::int64_t time_ns = 0, duration_ns = 0;
  std::vector<std::uint64_t> comments;  // strings
  std::uint64_t default_type = 0;       // string

  std::string_view text(std::uint64_t index) const {
    return index < strings.size() ? strings[index] : std::string_view();
  }
};

// The views point into `bytes`. Fails if they are not a well-formed profile; `name` is for
// messages.
Result<Message> read(std::string_view bytes, const std::string& name);
// Reads samples[index] of `message` into `sample`.
Status read_sample(const Message& message, std::size_t index, const std::string& name,
                   Sample& sample);

}  // namespace fbleprof::importers::pprof
