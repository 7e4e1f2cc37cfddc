// A profile's file made self-contained: with the names of its functions, which otherwise only the
// modules' files know, until somebody rebuilds them.
//
// The names become strings behind the last record, and the functions' records refer to them. All
// else stays as it was, so a packed file is read like any other, and packing twice changes nothing.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "profile/profile.h"

namespace fbleprof::profile {

// `bytes` is a whole file that nobody writes to, and `named` what was read from it, with names.
// What is reserved behind the last record is left out.
Result<std::vector<std::byte>> pack(std::vector<std::byte> bytes, const std::string& name,
                                    const Profile& named);

// Cuts off the space that a killed program had reserved in its file and did not use: the bytes that
// were cut off. Fails if the program still runs, or if the file is no profile.
Result<std::uint64_t> trim(const std::string& path);

}  // namespace fbleprof::profile
