#include "launch/report_tool.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "launch/library.h"
#include "launch/say.h"

namespace fbleprof::launch {

std::string report_path() {
  namespace fs = std::filesystem;
  const fs::path tools = folder_of_tools();
  const fs::path report = tools / "fble-prof-report";
  // In a build tree the report is in its own folder.
  const fs::path built = tools / "report" / "fble-prof-report";
  return access(report.c_str(), X_OK) != 0 && access(built.c_str(), X_OK) == 0 ? built.string()
                                                                               : report.string();
}

pid_t start_report(std::vector<std::string> arguments, int stream, int descriptor) {
  std::string report = report_path();
  std::vector<char*> argv = {report.data()};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  unsetenv("LD_PRELOAD");
  if (descriptor >= 0) dup2(descriptor, stream);
  execv(report.c_str(), argv.data());
  std::fprintf(stderr, "%s: %s\n", printable(report).c_str(), std::strerror(errno));
  _exit(1);
}

}  // namespace fbleprof::launch
