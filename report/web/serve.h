// --serve: turns options into a server that runs until the user stops it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "report/web/profiles.h"

namespace fbleprof::web {

struct ServeOptions {
  std::string where;  // [HOST][:PORT], or PORT; "" = 127.0.0.1 and a free port
  std::vector<std::string> files;
  bool are_runs = false;           // in comparisons, the files are runs of one program
  std::vector<std::string> bases;  // to compare with
  std::string version;
};

// Prints the link on stdout and serves. Fails if it cannot.
Status serve(const ServeOptions& options, Load load);

// "HOST:PORT" split into its parts; fails on anything else.
struct Address {
  std::string host = "127.0.0.1";
  unsigned short port = 0;
};
Result<Address> parse_address(const std::string& where);

}  // namespace fbleprof::web
