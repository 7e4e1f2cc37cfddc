// What the registry says of views and exporters, for the manual page and for completions.
//
// Both are made when the program is built, from templates: a line "@NAME@" stands for what is put
// there, so that no list of views is ever written by hand.
#pragma once

#include <string>

#include "base/result.h"

namespace fbleprof::report {

// `text` with these filled in:
//
//     @MAN_VIEWS@, @MAN_EXPORTERS@                            paragraphs in roff
//     @BASH_OPTIONS@, @BASH_VALUES@                           words; cases of a `case`
//     @ZSH_OPTIONS@                                           arguments of _arguments
//
// Fails on a name that is none of these.
Result<std::string> fill_in(const std::string& text);

}  // namespace fbleprof::report
