// Rewrites the starts of functions in memory, so that programs without hooks are counted exactly
// (--exact). plan/plan.h says what is written where.
//
// The recorder compares the file's bytes with the plan's before it changes anything. The text is
// writable for a moment, but always executable: libc's functions, which we need meanwhile, may call
// through a program's own PLT.
#pragma once

#include "capture/rewriting.h"
#include "format/format.h"

namespace fbleprof::capture {

// Whether the module at `path` is chosen by --exact.
bool is_wanted(const format::Module& module, const char* path);

// Says that a chosen module is not rewritten.
void remark_not_counted(const char* path, const char* reason);

// Rewrites the chosen modules among the new ones (modules.h). Call it before the program's first
// constructor, and before those of a library.
void rewrite_new_modules();
// The same by a function of the caller's, in a program to which we were attached. The function
// returns why the module was not rewritten; null if it was.
void rewrite_new_modules(const char* (*rewrite)(const Work&));

// Rewrites one module, after `note` was told. Returns why it was not rewritten, for example because
// `note` returned false; null if it was.
const char* rewrite_module(const Work& work, bool (*note)(const Work&, const Region&));

// In a forked child with its own file: its modules were rewritten by the parent.
void recognize_rewritten();

}  // namespace fbleprof::capture
