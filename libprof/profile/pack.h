// Makes a profile's file self-contained: adds the names of its functions, which otherwise only the
// modules' files hold until they are rebuilt.
//
// The names become strings after the last record, and the functions' records refer to them.
// Everything else is unchanged, so a packed file is read like any other, and packing twice changes
// nothing.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "profile/profile.h"

namespace fbleprof::profile {

// `bytes` is a whole file that nobody writes to, and `named` the profile read from it, with names.
// Space reserved behind the last record is left out.
Result<std::vector<std::byte>> pack(std::vector<std::byte> bytes, const std::string& name,
                                    const Profile& named);

// Cuts off the unused space that a killed program had reserved in its file; returns the number of
// bytes cut off. Fails if the program is still running, or if the file is not a profile.
Result<std::uint64_t> trim(const std::string& path);

}  // namespace fbleprof::profile
