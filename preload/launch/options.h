// The command line of fble-prof: options up to the program's name, then the program's own words.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "launch/time_text.h"

namespace fbleprof::launch {

enum class Action { kRun, kHelp, kVersion };

struct Request {
  Action action = Action::kRun;
  // Settings of the recorder, as FBLEPROF_... variables. Options that were not given are left out,
  // so the environment's settings stay in force.
  std::vector<std::pair<std::string, std::string>> environment;
  bool names = false;                // put names into the profiles at the end of the run
  Windows windows;                   // snapshots during the run
  bool twice = false;                // run it sampled, then counted, and join the two
  std::vector<std::string> command;  // the program and its arguments
  std::string error;                 // one line; not empty = wrong usage
};

// `arguments` is without the name of fble-prof itself. The first word that is not an option, or the
// word after "--", is the program; everything after it belongs to the program.
Request read_request(const std::vector<std::string>& arguments);

// Whether a switch of the recorder with this value is off. null: it is not set.
bool is_off(const char* value);

// The text of --help: purpose, examples, options.
std::string help();
// The text of --version.
std::string version();
// What these words of a command without other options ask for: `help`, the version, or "".
std::string text_asked_for(const std::vector<std::string>& words, const std::string& help);

}  // namespace fbleprof::launch
