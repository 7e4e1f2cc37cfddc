#include "launch/adapters.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "launch/options.h"
#include "launch/target.h"

namespace fbleprof::launch {
namespace {

namespace fs = std::filesystem;

struct Known {
  const char* variable;
  const char* library;
  std::string_view symbol;       // every such program has it, or uses a library's
  std::string_view unsupported;  // a text of programs that contain a version without support
  // Modules of the runtime, besides the program, that are not rewritten; null: it counts no calls.
  const char* modules;
};
constexpr Known kKnown[] = {
    {"FBLEPROF_LUA", "libfbleprof_lua.so", "luaL_newstate", "Lua 5.1",
     "liblua5.2,liblua5.3,liblua5.4,liblua,lua"},
    {"FBLEPROF_LUA", "libfbleprof_lua.so", "luaJIT_setmode", "LuaJIT 2.0", nullptr},
};

// As a whole name in the table of symbol names.
constexpr std::string_view kMcount{"\0mcount", 8};

// An adapter is on if nobody says otherwise.
bool is_unwanted(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != 0 && is_off(value);
}

}  // namespace

Adapters adapters_for(const std::string& path, const char* search_path,
                      const std::string& recorder) {
  Adapters adapters;
  const std::string program = program_of(path, search_path);
  for (const Known& known : kKnown) {
    if (is_unwanted(known.variable) || !names_symbol(program, known.symbol)) continue;
    if (!adapters.libraries.empty() && adapters.libraries.back().ends_with(known.library)) continue;
    if (holds_text(program, {known.unsupported, "__fentry__", kMcount, "__cyg_profile_func_enter"}))
      continue;
    const fs::path library = fs::path(recorder).parent_path() / known.library;
    if (access(library.c_str(), R_OK) != 0) {
      adapters.error = std::string(known.library) + " was not found beside " + recorder;
      return adapters;
    }
    adapters.libraries.push_back(library.string());
    if (known.modules == nullptr) continue;
    std::error_code failure;
    adapters.counted_by_them +=
        fs::canonical(program, failure).filename().string() + "," + known.modules + ",";
  }
  return adapters;
}

}  // namespace fbleprof::launch
