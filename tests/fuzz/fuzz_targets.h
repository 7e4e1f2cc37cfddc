// The fuzz targets: each takes any bytes, and must neither crash nor use excessive memory. The
// fuzzers (preset `fuzz`) and the replay of the corpus in the unit tests call the same functions.
#pragma once

#include <cstdint>
#include <span>

namespace fbleprof::fuzz {

using Target = void(std::span<const std::uint8_t> bytes);

Target native;       // mlmon.out: the reader, --verify's questions, joining and merging
Target perf_script;  // what `perf script` prints
Target folded;
Target pprof;  // plain protobuf or gzip
Target speedscope;
Target gzip;  // any of these, compressed or not
Target gmon;
Target elf;             // a module's file: symbols, lines, inlined calls, hooks, instructions
Target exact;           // the same for --exact: the plan must be whole, and fit the file
Target plan;            // what the recorder asks before it reads a plan
Target left_out_table;  // the same for a table of --only or --not
Target generated_code;  // a jitdump or a perf map
Target symbol_table;    // a file of the cache of names
Target request;         // what a browser sends to --serve

struct NamedTarget {
  const char* name;  // and the folder of its corpus
  Target* run;
};
inline constexpr NamedTarget kTargets[] = {{"native", native},
                                           {"perf_script", perf_script},
                                           {"folded", folded},
                                           {"pprof", pprof},
                                           {"speedscope", speedscope},
                                           {"gzip", gzip},
                                           {"gmon", gmon},
                                           {"elf", elf},
                                           {"exact", exact},
                                           {"plan", plan},
                                           {"left_out_table", left_out_table},
                                           {"generated_code", generated_code},
                                           {"symbol_table", symbol_table},
                                           {"request", request}};

}  // namespace fbleprof::fuzz
