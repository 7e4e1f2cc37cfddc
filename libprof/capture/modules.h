// The program and its libraries, as the loader lists them.
#pragma once

#include <cstdint>

#include "capture/text.h"
#include "format/format.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

// Registers the modules loaded at the start of a profile. Does not take the loader's lock: a forked
// child may have inherited it from a thread that does not exist in the child.
void add_loaded_modules();

// Whether the loader lists the module with the program. Samples also register modules of other
// link namespaces. Call it while the loader's list is consistent.
bool is_listed(const format::Module& module);

// Registers modules that the loader has mapped since, but not yet relocated. Call it while the
// loader's list is consistent.
void add_mapped_modules();

// Whether the loader tells of each module of the program's link namespace that it maps or unmaps.
void note_loader_watch(bool is_watched);
bool is_loader_watched();

// Call when modules may have been unloaded: forgets their code.
enum class Unloaded {
  kAll,     // no module is being loaded: under the loader's lock, or nobody adds mapped modules
  kOthers,  // of other link namespaces: one that is being loaded looks as if it was gone
};
void note_unloading(Unloaded which);

// The loaded module that begins there, or null.
format::Module* loaded_module_at(std::uint64_t begin);

// The loaded module that begins next above the address, or null.
format::Module* next_loaded_module(std::uint64_t above);

// Whether memory is mapped there. It is not if the loader unloaded the module without dlclose.
bool is_mapped(std::uint64_t begin);

// Calls function(format::Module&) for each module that is registered, also for unloaded ones.
template <typename Function>
void for_each_module(Function function) {
  using signal_safe::session;
  for (format::Ref ref = __atomic_load_n(&session.arena.header()->newest_module, __ATOMIC_ACQUIRE);
       ref != 0;) {
    auto* module = session.arena.at<format::Module>(ref);
    function(*module);
    ref = module->older;
  }
}

template <typename Function>
void for_each_loaded_module(Function function) {
  for_each_module([&](format::Module& module) {
    if (module.unloaded_ns == 0) function(module);
  });
}

// The same for modules that are not settled yet: whose code was not examined for ways to call
// hooks.
template <typename Function>
void for_each_new_module(Function function) {
  for_each_loaded_module([&](format::Module& module) {
    if ((module.flags & format::kModuleIsSettled) == 0) function(module);
  });
}

// Puts the module's path into `path` and returns it.
const char* path_of(const format::Module& module, Path& path);

// Whether this is the recorder, whatever the name of its file: hooks in it would call themselves.
bool is_recorder(const format::Module& module);

// Whether the file's name is that of one of our libraries.
bool is_own_library(const char* path);
// Whether this is the recorder or a library beside it.
bool is_own_library(const format::Module& module);

}  // namespace fbleprof::capture
