// Looks up functions by name in the loader's list of objects.
//
// We do not use dlsym: before glibc 2.34 it is in a library of its own (libdl), which we would load
// into every program. Nor does this take the loader's lock.
#pragma once

namespace fbleprof::capture {

// What the name means to the objects behind this library, as dlsym(RTLD_NEXT) tells it; null if
// none of them defines it. Not in handlers: another thread may be unloading an object.
void* next_definition(const char* name);
// The same, after the library whose _DYNAMIC is `after`.
void* next_definition(const char* name, const void* after);

// From now on all other objects count: this library was loaded after them.
void look_at_all_objects();
// What the name means to the first object in the list that defines it, the program included; null
// if none does.
void* any_definition(const char* name);

// The file of this library, as the loader names it; "" if it is not in the list.
const char* own_file();

}  // namespace fbleprof::capture
