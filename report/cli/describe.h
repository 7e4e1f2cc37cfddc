// What the registry says of views and exporters, for the manual page and for completions.
//
// Both are generated from templates when the program is built: a line "@NAME@" is replaced by
// generated text, so that no list of views is written by hand.
#pragma once

#include <string>

#include "base/result.h"

namespace fbleprof::report {

// `text` with these placeholders replaced:
//
//     @MAN_VIEWS@, @MAN_EXPORTERS@                            paragraphs in roff
//     @BASH_OPTIONS@, @BASH_VALUES@                           words; cases of a `case`
//     @ZSH_OPTIONS@                                           arguments of _arguments
//
// Fails on any other name.
Result<std::string> fill_in(const std::string& text);

}  // namespace fbleprof::report
