// What a module's symbol table says of the functions that share a name there: static functions of
// several source files, and the parts and clones that compilers make of them.
#pragma once

#include <cstdint>

namespace fbleprof::profile {

// How a function is told from others of its name in its module. Its unit is a text: the source file
// that defines a static function ("a.c"), "" for a function of the whole module.
enum class Namesakes : std::uint8_t {
  kNotKnown,  // no symbol table was read
  kNone,      // there are no others
  kByUnit,    // by its unit, in other builds of the module, too
  kByPlace,   // by its unit in this build only: its source file is not known
};

}  // namespace fbleprof::profile
