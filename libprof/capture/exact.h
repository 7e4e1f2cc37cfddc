// Rewrites the starts of functions in memory, so that programs without hooks are counted exactly
// (--exact). plan/plan.h says what is written where.
//
// The file's bytes are compared with the plan's before anything is changed. The text is writable
// for a moment, but never without PROT_EXEC: libc's functions, which we need meanwhile, may call
// through a program's own PLT.
#pragma once

namespace fbleprof::capture {

// Rewrites the modules that are new (modules.h) and chosen. Before the program's first constructor,
// and before those of a library.
void rewrite_new_modules();

// In a forked child with its own file: its modules were rewritten by the parent.
void recognize_rewritten();

}  // namespace fbleprof::capture
