#include "fake_lua.h"

#include <cstring>

namespace fbleprof::adapters {

namespace {

FakeLua* now;

LuaValue& at(int index) {
  const auto size = static_cast<int>(now->stack.size());
  return now->stack[static_cast<std::size_t>(index > 0 ? index - 1 : size + index)];
}

bool is_same(const LuaValue& one, const LuaValue& other) {
  return one.type == other.type && one.text == other.text && one.object == other.object &&
         one.code == other.code && one.fields == other.fields;
}

template <typename Debug>
void fill(const LuaLevel& level, Debug* debug) {
  debug->name = level.name;
  debug->name_what = level.name_what;
  debug->what = level.what;
  debug->source = level.source;
  debug->line_defined = level.line;
  debug->last_line_defined = level.last_line;
  std::strncpy(debug->short_source, level.short_source, sizeof debug->short_source - 1);
}

template <typename Debug>
int get_info(const char* what, void* to) {
  auto* debug = static_cast<Debug*>(to);
  for (const LuaLevel& level : now->levels) {
    if (level.call_info != debug->call_info) continue;
    fill(level, debug);
    if (std::strchr(what, 'f')) now->stack.push_back(level.function);
    return 1;
  }
  return 0;
}

int get_info_of_jit(lua_State*, const char*, void*) {
  now->stack.push_back(now->levels[1].function);
  return 1;
}

// LuaJIT's lua_Debug is none of the adapter's two.
int get_stack(lua_State*, int level, void* debug) {
  if (level >= static_cast<int>(now->levels.size())) return 0;
  auto* info = const_cast<void*>(now->levels[static_cast<std::size_t>(level)].call_info);
  if (lua.version == 504) static_cast<DebugOf54*>(debug)->call_info = info;
  if (lua.version == 502 || lua.version == 503) static_cast<DebugOf52*>(debug)->call_info = info;
  return 1;
}

void set_top(lua_State*, int index) {
  const auto size = static_cast<int>(now->stack.size());
  now->stack.resize(static_cast<std::size_t>(index >= 0 ? index : size + index + 1));
}

int next_field(lua_State*, int index) {
  const LuaValue key = now->stack.back();
  now->stack.pop_back();
  const LuaValue::Fields& fields = *at(index).fields;
  std::size_t i = 0;
  if (key.type != 0) {
    while (!is_same(fields[i].first, key)) ++i;
    ++i;
  }
  if (i == fields.size()) return 0;
  const auto field = fields[i];
  now->stack.push_back(field.first);
  now->stack.push_back(field.second);
  return 1;
}

void get_field(lua_State*, int index, const char* name) {
  if (index == lua.registry) return now->stack.push_back(now->loaded);
  for (const auto& [key, value] : *at(index).fields) {
    if (key.text == name) return now->stack.push_back(LuaValue(value));
  }
  now->stack.emplace_back();
}

void set_field(lua_State*, int index, const char* name) {
  LuaValue::Fields& fields = *at(index).fields;
  const LuaValue value = now->stack.back();
  now->stack.pop_back();
  for (auto& field : fields) {
    if (field.first.text == name) field.second = value;
  }
}

// Calls the C function on top of the stack.
int call(lua_State* state, int) {
  if (now->calls_that_work-- <= 0) return 2;
  const LuaFunction code = now->stack.back().code;
  return code(state) >= 0 ? 0 : 2;
}

int load(lua_State* state, const char* (*reader)(lua_State*, void*, std::size_t*), void* data,
         const char*, const char*) {
  std::size_t size = 0;
  while (reader(state, data, &size)) {
  }
  if (now->load_result == 0) now->stack.push_back(LuaValue::function(nullptr));
  return now->load_result;
}

}  // namespace

FakeLua::FakeLua(int version) {
  closures.reserve(100);  // some tests have no memory later
  now = this;
  lua = {};
  lua.version = version;
  lua.registry = version == 501 ? -10000 : -1001000;
  if (version == 502) lua.layout = {104, 72, 84, 88, 16, 24};
  if (version == 503) lua.layout = {40, 104, 20, 24, 48, 56};
  if (version == 504) lua.layout = {44, 112, 20, 24, 56, 64};
  lua.sethook = [](lua_State*, LuaHook set, int mask, int count) {
    now->hook = set;
    now->hook_mask = mask;
    now->hook_count = count;
    ++now->hooks_set;
  };
  lua.gethook = [](lua_State*) { return now->hook; };
  lua.gethookmask = [](lua_State*) { return now->hook_mask; };
  lua.gethookcount = [](lua_State*) { return now->hook_count; };
  lua.getinfo = [](lua_State* state, const char* what, void* debug) {
    if (lua.version == 501) return get_info_of_jit(state, what, debug);
    return lua.version == 504 ? get_info<DebugOf54>(what, debug) : get_info<DebugOf52>(what, debug);
  };
  lua.getstack = get_stack;
  lua.gettop = [](lua_State*) { return static_cast<int>(now->stack.size()); };
  lua.settop = set_top;
  lua.topointer = [](lua_State*, int index) { return at(index).object; };
  lua.tocfunction = [](lua_State*, int index) { return at(index).code; };
  lua.tolstring = [](lua_State*, int index, std::size_t*) { return at(index).text.c_str(); };
  lua.type = [](lua_State*, int index) { return at(index).type; };
  lua.rawequal = [](lua_State*, int one, int other) { return is_same(at(one), at(other)) ? 1 : 0; };
  lua.getfield = get_field;
  lua.setfield = set_field;
  lua.getglobal = [](lua_State*, const char*) { now->stack.push_back(now->debug); };
  lua.tothread = [](lua_State*, int index) {
    return static_cast<lua_State*>(const_cast<void*>(at(index).object));
  };
  lua.createtable = [](lua_State*, int, int) { now->stack.push_back(LuaValue::table()); };
  lua.newuserdata = [](lua_State*, std::size_t, int) -> void* {
    now->stack.push_back(LuaValue::number());
    return now;
  };
  lua.setmetatable = [](lua_State*, int) {
    now->stack.pop_back();
    return 1;
  };
  lua.rawsetp = [](lua_State*, int, const void*) { now->stack.pop_back(); };
  lua.pushnil = [](lua_State*) { now->stack.emplace_back(); };
  lua.pushcclosure = [](lua_State*, LuaFunction code, int) {
    now->closures.push_back(code);
    now->stack.push_back(LuaValue::function(nullptr, code));
  };
  lua.next = next_field;
  lua.load = load;
  lua.newthread = [](lua_State*) {
    now->stack.push_back(LuaValue::thread(now->new_thread));
    return now->new_thread;
  };
  lua.resume = call;
  lua.pcallk = [](lua_State* state, int arguments, int, int, std::ptrdiff_t, void*) {
    return call(state, arguments);
  };
  lua.dump = [](lua_State* state, int (*writer)(lua_State*, const void*, std::size_t, void*),
                void* data,
                int) { return writer(state, now->dumped.data(), now->dumped.size(), data); };
}

FakeLua::~FakeLua() {
  lua = {};
  now = nullptr;
}

}  // namespace fbleprof::adapters
