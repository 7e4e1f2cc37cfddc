// What the user asks of fble-prof: options up to the program's name, then the program's own words.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace fbleprof::launch {

enum class Action { kRun, kHelp, kVersion };

struct Request {
  Action action = Action::kRun;
  // Settings of the recorder, as FBLEPROF_... variables. What was not asked for is not among them,
  // so that the environment's own settings stand.
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> command;  // the program and its arguments
  std::string error;                 // one line; not empty = wrong usage
};

// `arguments` without the name of fble-prof itself. The first word that is no option, or the word
// after "--", is the program; everything from there on is left alone.
Request read_request(const std::vector<std::string>& arguments);

// The text of --help: what it is for, examples, options.
std::string help();

}  // namespace fbleprof::launch
