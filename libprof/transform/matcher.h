// Patterns that name functions, as users type them.
//
//     render           the function of exactly that name
//     render*, get?    a glob: * any text, ? any character, [a-z] one of these
//     re:^std::        a regular expression (RE2's syntax: no back references, linear time), found
//                          anywhere in the name
//     module:libc*     every function of a module: its path or the last part of it, exact or glob
//     file:*.cc        every function of a source file: likewise
//     id:0123456789ab  one function, as links of the page name it (stable_id.h)
//
// Names match with their parameters or without ("f(int)" and "f"). So "f" names a coroutine with
// the functions that the compiler makes of it ("f(int) [resume]"), and "f(int)" only its beginning.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "profile/profile.h"

namespace fbleprof::transform {

// By function: 1 = the pattern names it. Fails on an invalid pattern.
Result<std::vector<std::uint8_t>> match(const profile::Profile& profile,
                                        const std::string& pattern);

// Whether the pattern is a plain name, which cannot stand for several.
bool is_exact(const std::string& pattern);

// The pattern of all functions whose names contain the text, ignoring case.
std::string containing(const std::string& text);

// Whether `text` matches the glob as a whole.
bool glob_match(std::string_view glob, std::string_view text);

}  // namespace fbleprof::transform
