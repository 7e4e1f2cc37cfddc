// The files that a process has mapped, and where their functions are in its memory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace fbleprof::attach {

struct Mapping {
  std::uint64_t begin = 0, end = 0, offset = 0, inode = 0;
  bool is_code = false;
  std::string path;  // as the process sees it; empty: memory
};

std::vector<Mapping> mappings_of(pid_t pid);

// The last part of a path.
std::string name_in(const std::string& path);

// The path by which this process can open a file of process `pid`.
std::string path_from_outside(pid_t pid, const std::string& path);

// The same, of the file that is mapped at `mapping`, even if it has been replaced or deleted since;
// "" if it cannot be opened.
std::string mapped_file_from_outside(pid_t pid, const Mapping& mapping);

// Whether process `pid` sees this file at the same path.
bool sees_file(pid_t pid, const std::string& path);

// The mapping that begins there; null if there is none.
const Mapping* mapping_from(const std::vector<Mapping>& mappings, std::uint64_t begin);

// The mapping that holds the address; null if there is none.
const Mapping* mapping_at(const std::vector<Mapping>& mappings, std::uint64_t address);

// The first mapping of the loaded object that has this code. A program can also map the file as
// data, anywhere. Null: no mapping below the code begins with the file's first byte.
const Mapping* object_with(const std::vector<Mapping>& mappings, const Mapping& code);

// The file whose name begins with `name` ("libc.so", "libc-"); null if it is not mapped.
const Mapping* find_file(const std::vector<Mapping>& mappings, const std::string& name);

// The memory address of a function that a mapped file exports; 0 if it does not export it. `copy`
// is the path by which this process can read the file.
std::uint64_t find_function(const std::vector<Mapping>& mappings, const std::string& path,
                            const std::string& copy, const std::string& function);

// Whether the loaded object that begins there exports the function, by what is in memory alone, for
// files that cannot be read; true if nothing can tell.
bool may_export(pid_t pid, std::uint64_t object, const std::string& function);

// Any place in the code of that file that holds these bytes; 0 if there is none.
std::uint64_t find_code(pid_t pid, const std::vector<Mapping>& mappings, const std::string& path,
                        const std::string& bytes);

}  // namespace fbleprof::attach
