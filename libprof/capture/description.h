// The records that describe a profile as a whole: header, metrics, process, notes, and the
// end. With capture/fork_child the only file of this layer that writes records of
// the format other than a thread's own.
#pragma once

#include <cstdint>

#include "capture/options.h"
#include "capture/output_file.h"
#include "format/format.h"

namespace fbleprof::capture {

// Writes the header of a file that nothing is in yet.
void start_file(const Settings& settings, const OutputFile& output);
// Describes metrics and process.
void describe(const Settings& settings);

// Adds a remark for the reader of the report. From any handler.
void add_note(const char* text);

// How the process ended. The state is written apart, and last: it says that the rest is there.
void describe_end(std::uint32_t code, bool is_trivial);
// It did not end after all.
void describe_going_on();

}  // namespace fbleprof::capture
