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
  lua.getfield(state, kRegistry, "_LOADED");
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

}  // namespace

bool module_name(lua_State* state, Text& name) {
  const int function = lua.gettop(state);
  for_each_field(state, [&](int index) {
    if (lua.rawequal(state, index + 4, function) == 0) return false;
    add_names(state, index, name);
    return true;
  });
  return !name.is_empty();
}

void for_each_c_function(lua_State* state, void (*visit)(const char* name, LuaFunction function)) {
  for_each_field(state, [&](int index) {
    LuaFunction function = lua.tocfunction(state, index + 4);
    Text name;
    if (function) {
      add_names(state, index, name);
      visit(name.text(), function);
    }
    return false;
  });
}

}  // namespace fbleprof::adapters
