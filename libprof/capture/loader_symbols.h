// Looks up functions by name in the loader's list of objects.
//
// We do not use dlsym: before glibc 2.34 it is in a separate library (libdl), which we would load
// into every program. These functions also do not take the loader's lock.
#pragma once

namespace fbleprof::capture {

// The definition of the name in the objects after this library, as dlsym(RTLD_NEXT) finds it; null
// if none of them defines it. Not in handlers: another thread may be unloading an object.
void* next_definition(const char* name);
// The same, after the library whose _DYNAMIC is `after`.
void* next_definition(const char* name, const void* after);

// A library of the program may define a name of libc's for a purpose of its own, with another type.
// A preloaded library that defines such a name stands for libc.
struct Definition {
  void* next = nullptr;     // the first one, of any library
  void* of_libc = nullptr;  // the first one of libc or a preloaded library
  bool is_libcs = false;    // whether that is libc's own
};
// The definitions in the objects after the library whose _DYNAMIC is `after`.
Definition next_definition_of_libc(const char* name, const void* after);

// Makes the search cover all other objects: this library was loaded after them.
void look_at_all_objects();
// The definition of the name in the first object of the list that has one, the program included;
// null if none does.
void* any_definition(const char* name);

// The definition of the name in libc itself; null if there is none.
void* definition_of_libc(const char* name);

// The file of this library, as the loader names it; "" if it is not in the list.
const char* own_file();

}  // namespace fbleprof::capture
