// --only-thread and --not-thread: which threads are recorded, by their names.
#pragma once

namespace fbleprof::capture {

// Whether a filter (FBLEPROF_THREADS: patterns with ";" between them, "!" before those to leave
// out) keeps a thread of this name. The last pattern that matches decides; if none does, the first
// one: it begins with what is kept, or with what is left out.
bool keeps_thread(const char* filter, const char* name);

}  // namespace fbleprof::capture
