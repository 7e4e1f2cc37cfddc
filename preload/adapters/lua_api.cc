#include "adapters/lua_api.h"

#include <type_traits>

#include "allocations/loader.h"

namespace fbleprof::adapters {

constinit LuaApi lua{};

namespace {

bool is_ours(void* function) {
  Dl_info ours{}, found{};
  dladdr(&lua, &ours);
  dladdr(function, &found);
  return ours.dli_fbase == found.dli_fbase;
}

constexpr Layout kLayoutOf52{104, 72, 84, 88, 16, 24}, kLayoutOf53{40, 104, 20, 24, 48, 56},
    kLayoutOf54{44, 112, 20, 24, 56, 64};

// Recognizes versions by the functions that each added.
int version_of(const void* near) {
  const auto has = [near](const char* name) { return function_of_lua(name, near) != nullptr; };
  if (has("luaJIT_setmode")) return 501;
  if (!has("lua_callk")) return 0;
  if (has("lua_toclose")) return 504;
  return has("lua_isyieldable") ? 503 : 502;
}

Layout layout_of(int version) {
  return version == 504 ? kLayoutOf54 : version == 503 ? kLayoutOf53 : kLayoutOf52;
}

}  // namespace

void* function_of_lua(const char* name, const void* near) {
  void* found = dlsym(RTLD_DEFAULT, name);
  if (found && is_ours(found)) found = dlsym(RTLD_NEXT, name);
  if (found) return found;
  // liblua may have been loaded for one module alone.
  Dl_info info;
  if (!near || dladdr(near, &info) == 0) return nullptr;
  void* handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) return nullptr;
  found = dlsym(handle, name);
  return found && !is_ours(found) ? found : nullptr;
}

bool find_lua(const void* near) {
  static bool has_looked = false;
  if (has_looked) return lua.version != 0;
  has_looked = true;
  const int version = version_of(near);
  if (version == 0) return false;
  bool has_all = true;
  const auto find = [&](auto& function, const char* name) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(function_of_lua(name, near));
    has_all = has_all && function != nullptr;
  };
  find(lua.sethook, "lua_sethook");
  find(lua.gethook, "lua_gethook");
  find(lua.gethookmask, "lua_gethookmask");
  find(lua.gethookcount, "lua_gethookcount");
  find(lua.getinfo, "lua_getinfo");
  find(lua.getstack, "lua_getstack");
  find(lua.gettop, "lua_gettop");
  find(lua.settop, "lua_settop");
  find(lua.topointer, "lua_topointer");
  find(lua.tocfunction, "lua_tocfunction");
  find(lua.tolstring, "lua_tolstring");
  find(lua.tothread, "lua_tothread");
  find(lua.type, "lua_type");
  find(lua.rawequal, "lua_rawequal");
  find(lua.getfield, "lua_getfield");
  find(lua.setfield, "lua_setfield");
  find(lua.pushnil, "lua_pushnil");
  find(lua.pushcclosure, "lua_pushcclosure");
  find(lua.next, "lua_next");
  find(lua.createtable, "lua_createtable");
  find(lua.setmetatable, "lua_setmetatable");
  find(lua.newuserdata, version == 504 ? "lua_newuserdatauv" : "lua_newuserdata");
  find(lua.load, "lua_load");
  if (version == 501) {
    find(lua.newthread, "lua_newthread");
    find(lua.resume, "lua_resume");
  } else {
    find(lua.getglobal, "lua_getglobal");
    find(lua.rawsetp, "lua_rawsetp");
    find(lua.pcallk, "lua_pcallk");
  }
  find(lua.dump, "lua_dump");
  lua.registry = version == 501 ? -10000 : -1001000;
  lua.layout = layout_of(version);
  lua.version = has_all ? version : 0;
  return has_all;
}

}  // namespace fbleprof::adapters
