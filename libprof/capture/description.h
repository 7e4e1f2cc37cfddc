// The records that describe a profile as a whole: header, metrics, process, notes, and the end.
// Apart from threads' own records, only this file and capture/fork_child write records in this
// layer.
#pragma once

#include <cstdint>

#include "capture/options.h"
#include "capture/output_file.h"
#include "format/format.h"

namespace fbleprof::capture {

// Writes the header of an empty file.
void start_file(const Settings& settings, const OutputFile& output);
// Describes metrics and process.
void describe(const Settings& settings);

// Adds a remark for the reader of the report. Any handler may call this.
void add_note(const char* text);

// Describes how the process ended. The state is written separately and last: it says that the rest
// is complete.
void describe_end(std::uint32_t code, bool is_trivial);
// Withdraws that: the process did not end after all.
void describe_going_on();

}  // namespace fbleprof::capture
