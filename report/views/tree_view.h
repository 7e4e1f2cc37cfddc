// The default view: the tree of calling contexts.
//
// Meant to be read by people, so it leaves out what nobody looks for and says what that was:
// branches below --min, levels below --depth. A run of functions that do nothing but call the next
// one is one line, "a → b → c", with the first one's figures. What stands further right is called
// by what it hangs from, always. Recursion and tail calls are lines of their own, below the
// function that makes them:
//
//     fib                       ↻ a call back to a context further up (0 = itself)
//     └─ ↻ fib  (itself)        ⇒ a tail call: the cost of what was called is its caller's
#pragma once

#include <string>

#include "report/text/input.h"

namespace fbleprof::report {

// Text, CSV (depth,name,total,self,calls,kind) or JSON (nodes with parents, edges).
std::string tree_view(const Input& input);

}  // namespace fbleprof::report
