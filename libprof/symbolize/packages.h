// Which package of the distribution installed a file, as dpkg's own lists say. No program is run.
#pragma once

#include <string>
#include <vector>

namespace fbleprof::symbolize {

// By path: the package that installed it, "" = none, or not a Debian system. Files move between
// /lib and /usr/lib without the lists' knowing, so both are looked for.
std::vector<std::string> packages_of(const std::vector<std::string>& paths,
                                     const std::string& lists = "/var/lib/dpkg/info");

// The package with the debug symbols of another: "libc6-dbg", else "NAME-dbgsym".
std::string debug_package_of(const std::string& package);

}  // namespace fbleprof::symbolize
