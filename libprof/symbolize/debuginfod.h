// Debug files from debuginfod servers, which DEBUGINFOD_URLS names.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "symbolize/elf_object.h"

namespace fbleprof::symbolize {

// The debug file of a build-id (raw bytes): fetched, and kept by the client in its own cache
// ($DEBUGINFOD_CACHE_PATH). Nothing, if no server has it, DEBUGINFOD_URLS is not set, or the client
// library is not installed. This process does not ask again a server that does not answer.
// `progress` is called during the download, with bytes so far and in all (0 = unknown).
std::optional<ElfObject> debug_file_by_debuginfod(
    const std::string& build_id, const std::function<void(long done, long total)>& progress);

}  // namespace fbleprof::symbolize
