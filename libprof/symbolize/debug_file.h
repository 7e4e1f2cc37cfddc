// Finds the symbols of stripped programs: in files that distributions install beside them, and in
// the programs themselves.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "symbolize/elf_object.h"

namespace fbleprof::symbolize {

// The debug file of a build-id (raw bytes) under one of `roots` (/usr/lib/debug), as
// .build-id/xx/yyyy.debug. A file with another build-id is rejected.
std::optional<ElfObject> debug_file_by_build_id(std::string_view build_id,
                                                const std::vector<std::string>& roots);

// The debug file that `object` names in .gnu_debuglink: beside it, in .debug/ beside it, and at its
// path under each of `roots`. It must have the same build-id, or, where there is none, the checksum
// that the link gives.
std::optional<ElfObject> debug_file_by_link(const ElfObject& object,
                                            const std::vector<std::string>& roots);

// The paths where these two look for the debug file of `object`, whether or not there is one.
std::vector<std::string> places_of_debug_file(const ElfObject& object,
                                              const std::vector<std::string>& roots);

// The compressed symbols that some distributions leave in a stripped program's .gnu_debugdata:
// those of functions that are not exported.
std::optional<ElfObject> mini_debug_info(const ElfObject& object);

}  // namespace fbleprof::symbolize
