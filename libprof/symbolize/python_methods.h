// Names of the C functions of Python, and of its extension modules, in stripped files.
//
// The interpreter finds these functions by tables in its data: modules and types name their
// methods, attributes and operators. So do the tables name the code: str.join, dict.get, len.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "symbolize/elf_object.h"
#include "symbolize/symbol_table.h"

namespace fbleprof::symbolize {

// The functions that tables of Python name; none if the file does not refer to Python's functions
// (64-bit little-endian files only). A function of a type's slot has the slot's name: list.tp_iter.
// One that several types share is "tp_iter of 3 types". The symbols' names are in *names, which
// must not be changed while they are used.
std::vector<RawSymbol> read_python_methods(const ElfObject& object, std::deque<std::string>* names);

}  // namespace fbleprof::symbolize
