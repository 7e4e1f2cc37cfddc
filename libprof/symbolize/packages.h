// Which package of the distribution installed a file, according to dpkg's lists. Runs no program.
#pragma once

#include <string>
#include <vector>

namespace fbleprof::symbolize {

// By path: the package that installed it, "" = none, or not a Debian system. Looks in /lib and
// /usr/lib, since files move between them without a change of the lists.
std::vector<std::string> packages_of(const std::vector<std::string>& paths,
                                     const std::string& lists = "/var/lib/dpkg/info");

// The package with the debug symbols of another: "libc6-dbg", else "NAME-dbgsym".
std::string debug_package_of(const std::string& package);

}  // namespace fbleprof::symbolize
