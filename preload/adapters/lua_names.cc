#include "adapters/lua_names.h"

namespace fbleprof::adapters {

namespace {

// Adds the name of the module at index + 1, and of its field at index + 3. The table of modules is
// at `index`.
void add_names(lua_State* state, int index, Text& name) {
  const char* module = lua.tolstring(state, index + 1, nullptr);
  if (strcmp(module, "_G") != 0) name.add(module).add(".");
  name.add(lua.tolstring(state, index + 3, nullptr));
}

// Calls visit(index) for each field of a loaded module, until it returns true. The table of modules
// is at `index`; above it are the module's name and table, and the field's name and value.
template <typename Visit>
void for_each_field(lua_State* state, Visit visit) {
  const int index = lua.gettop(state) + 1;
  lua.getfield(state, lua.registry, "_LOADED");
  bool is_done = lua.type(state, index) != kTable;
  if (!is_done) lua.pushnil(state);
  while (!is_done && lua.next(state, index) != 0) {
    if (lua.type(state, index + 1) == kString && lua.type(state, index + 2) == kTable) {
      lua.pushnil(state);
      while (!is_done && lua.next(state, index + 2) != 0) {
        is_done = lua.type(state, index + 3) == kString && visit(index);
        lua.settop(state, index + 3);
      }
    }
    lua.settop(state, index + 1);
  }
  lua.settop(state, index - 1);
}

// Adds Lua's own short form of a source.
void add_source(Text& text, const char* source) {
  if (*source == '@' || *source == '=') {
    text.add(source + 1);
    return;
  }
  text.add("[string \"");
  for (char one[2] = {}; *source && *source != '\n'; ++source) {
    one[0] = *source;
    text.add(one);
  }
  text.add("\"]");
}

}  // namespace

fbleprof_block add_function(const char* source, int line, std::uint64_t key, Places& places) {
  Text name, file;
  if (line == 0) {
    name.add("main chunk");
  } else {
    name.add("function <");
    add_source(name, source);
    name.add(":").add(line).add(">");
    add_number(name, places.number_of(name.text(), source, line, key));
  }
  if (*source == '@') {
    add_path(file, source + 1);
  } else {
    add_source(file, source);
  }
  const fbleprof_source told = {name.text(), file.text(), static_cast<std::uint32_t>(line), 0,
                                "Lua"};
  return fbleprof_block_with_key(key, &told);
}

bool module_name(lua_State* state, Text& name) {
  const int function = lua.gettop(state);
  for_each_field(state, [&](int index) {
    if (lua.rawequal(state, index + 4, function) == 0) return false;
    add_names(state, index, name);
    return true;
  });
  return !name.is_empty();
}

void name_c_function(const char* name, std::uint64_t key) {
  const fbleprof_source told = {name, nullptr, 0, 0, "Lua"};
  if (fbleprof_block_of_key(key) == 0) fbleprof_block_with_key(key, &told);
}

void name_c_functions(lua_State* state, std::uint64_t (*key_at)(lua_State* state, int index)) {
  for_each_field(state, [&](int index) {
    const std::uint64_t key = key_at(state, index + 4);
    Text name;
    if (key != 0) {
      add_names(state, index, name);
      name_c_function(name.text(), key);
    }
    return false;
  });
}

}  // namespace fbleprof::adapters
