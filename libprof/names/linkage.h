// The parts of a linkage name: what names the function, and what compilers add to the name of a
// part or of a clone of it.
//
// Compilers put words behind a dot for two reasons. "_Z1fv.cold" and "_Z1fv.constprop.0" do the
// work of f, elsewhere or for some arguments only: in a report they are f. "_Z1fv.resume" (the rest
// of a coroutine) and "_Z1fv._omp_fn.0" (the body of a loop) are called on their own and do other
// work. So only the words that are known to be of the first kind are a suffix; a name with any
// other word is the name of another function. The dots within Rust's names, and within those of
// gcc's coroutines ("_Z1fPZ1fvE11_Z1fv.Frame.actor"), then need no rule of their own.
#pragma once

#include <string_view>

namespace fbleprof::names {

struct LinkageName {
  std::string_view function;
  std::string_view suffix;  // "" or begins with a dot
};

// "_Z3foov.part.0.cold" is "_Z3foov" and ".part.0.cold". Pure; linear in the length of the name.
LinkageName split_linkage_name(std::string_view name);

// ".lto_priv.3" or ".llvm.123" in a suffix, "" if there is none: link-time optimization tells
// static functions of several files apart with it, whose name is otherwise the same.
std::string_view renaming_word(std::string_view suffix);

// Whether the name is that of a whole function, maybe a renamed one.
bool is_whole_function(std::string_view linkage_name);

// Whether the name is that of a part or a clone, or of a function that was renamed.
inline bool is_part(std::string_view linkage_name) {
  return !split_linkage_name(linkage_name).suffix.empty();
}

}  // namespace fbleprof::names
