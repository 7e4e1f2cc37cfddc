// Lua's C API as adapters call it, with one stack of values for all of its threads. What a test
// does not fill is empty.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "adapters/lua_api.h"

namespace fbleprof::adapters {

struct LuaValue {
  using Fields = std::vector<std::pair<LuaValue, LuaValue>>;
  int type = 0;
  std::string text;              // of a string
  const void* object = nullptr;  // what lua_topointer answers
  LuaFunction code = nullptr;    // of a C function
  std::shared_ptr<Fields> fields;

  static LuaValue string(const std::string& text) { return {kString, text, nullptr, nullptr, {}}; }
  static LuaValue number() { return {3, "", nullptr, nullptr, {}}; }
  static LuaValue table(Fields fields = {}) {
    return {kTable, "", nullptr, nullptr, std::make_shared<Fields>(std::move(fields))};
  }
  static LuaValue function(const void* object, LuaFunction code = nullptr) {
    return {kFunctionType, "", object, code, {}};
  }
  static LuaValue thread(const void* object) { return {kThread, "", object, nullptr, {}}; }
};

// A call, as lua_getstack and lua_getinfo tell of it.
struct LuaLevel {
  const void* call_info = nullptr;
  LuaValue function;
  const char *name = nullptr, *name_what = "", *what = "Lua", *source = "@/s.lua";
  const char* short_source = "s.lua";
  int line = 1, last_line = 2;
};

// While it exists, `lua` is this one.
class FakeLua {
 public:
  explicit FakeLua(int version);
  ~FakeLua();
  FakeLua(const FakeLua&) = delete;
  FakeLua& operator=(const FakeLua&) = delete;

  std::vector<LuaValue> stack;
  LuaValue loaded = LuaValue::table();  // the registry's _LOADED
  std::vector<LuaLevel> levels;         // of every thread
  LuaValue debug = LuaValue::table();   // the library
  std::vector<LuaFunction> closures;    // that were made
  LuaHook hook = nullptr;
  int hook_mask = 0, hook_count = 0;
  int hooks_set = 0;
  std::string dumped = "code";
  int load_result = 0;
  int calls_that_work = 1 << 30;  // of pcallk and resume
  lua_State* new_thread = nullptr;
};

}  // namespace fbleprof::adapters
