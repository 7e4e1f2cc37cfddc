// Looks up functions by name in the loader's list of objects.
//
// We do not use dlsym: before glibc 2.34 it is in a library of its own (libdl), which we would load
// into every program. Nor does this take the loader's lock.
#pragma once

namespace fbleprof::capture {

// What the name means to the objects behind this library, as dlsym(RTLD_NEXT) tells it; null if
// none of them defines it. Not in handlers: another thread may be unloading an object.
void* next_definition(const char* name);

// From now on all other objects count: this library was loaded after them.
void look_at_all_objects();

}  // namespace fbleprof::capture
