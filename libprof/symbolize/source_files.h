// The names of source files in DWARF.
#pragma once

#include <elfutils/libdw.h>

#include <string>

namespace fbleprof::symbolize {

// `file`, with the directory in which `unit` was compiled in front if it is relative.
std::string file_name(Dwarf_Die* unit, const char* file);

// The file that an attribute of `unit` gives by number, "" = none. libdw's dwarf_decl_file rejects
// number 0, which DWARF 5 has, and aborts on a damaged table.
std::string file_by_number(Dwarf_Die* unit, Dwarf_Attribute* attribute);

}  // namespace fbleprof::symbolize
