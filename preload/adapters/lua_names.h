// The names of Lua's functions, and their places in the source.
#pragma once

#include <string.h>

#include "adapters/lua_api.h"
#include "adapters/lua_prototypes.h"
#include "adapters/recorder.h"
#include "adapters/text.h"

namespace fbleprof::adapters {

// "string.format": the name by which a loaded module has the function that is on top of the stack.
// False: no module has it. Not in signal handlers, because it pushes values.
bool module_name(lua_State* state, Text& name);

// Registers the C functions of all loaded modules, by the names that the modules give them.
// `key_at`: the key of the C function at an index of the stack; 0: it is none. Not in signal
// handlers.
void name_c_functions(lua_State* state, std::uint64_t (*key_at)(lua_State* state, int index));
void name_c_function(const char* name, std::uint64_t key);

// Adds any path as an absolute one.
inline void add_path(Text& text, const char* path) {
  if (*path != '/' && text.add_directory()) {
    text.add("/");
    if (path[0] == '.' && path[1] == '/') path += 2;
  }
  text.add(path);
}

// The name by which the caller calls the function.
template <typename Debug>
bool called_name(const Debug& debug, Text& name) {
  if (!debug.name) return false;
  if (debug.name_what && strcmp(debug.name_what, "metamethod") == 0 && *debug.name != '_') {
    name.add("__");
  }
  name.add(debug.name);
  return true;
}

// The name that Lua's tracebacks give a function that has no other name.
template <typename Debug>
void name_by_place(const Debug& debug, bool is_main, Text& name) {
  if (is_main) {
    name.add("main chunk");
  } else if (*debug.what == 'C') {
    name.add("C function");
  } else {
    name.add("function <").add(debug.short_source).add(":").add(debug.line_defined).add(">");
  }
}

// Tells the functions apart that begin on one line: "f (2)".
inline void add_number(Text& name, int number) {
  if (number > 1) name.add(" (").add(number).add(")");
}

// Registers a function by its place, until its name is known. `line` 0: a main chunk. May run in
// the handler.
fbleprof_block add_function(const char* source, int line, std::uint64_t key, Places& places);

// "@script.lua" is a file; other sources are texts, represented by their beginning.
template <typename Debug>
void file_of(const Debug& debug, Text& file) {
  if (*debug.source == '@') {
    add_path(file, debug.source + 1);
  } else {
    file.add(debug.short_source);
  }
}

}  // namespace fbleprof::adapters
