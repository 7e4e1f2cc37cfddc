// Our own libraries in a running program: the recorder and adapters. `library` is the file here.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "attach/borrowed_thread.h"
#include "attach/loaded_file.h"
#include "base/result.h"

namespace fbleprof::attach {

// The library's code in the process: under its own name, or as a copy in memory. Null: it is not
// there.
const Mapping* find_library(const std::vector<Mapping>& mappings, const std::string& library);

// The address of what the library exports there; 0: there is none.
std::uint64_t find_in_library(pid_t pid, const std::string& library, const std::string& symbol);

// Makes the thread load the library.
Status load_library(pid_t pid, BorrowedThread& thread, const std::string& library);

// The text at that address in the process, up to its NUL; 4096 bytes at most.
std::string read_text(pid_t pid, std::uint64_t from);

}  // namespace fbleprof::attach
