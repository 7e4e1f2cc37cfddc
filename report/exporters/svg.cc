// SVG: the graph of dot.cc, drawn by graphviz's dot.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "report/exporters/dot.h"

extern char** environ;

namespace fbleprof::report {
namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

Error failure(const std::string& what, const std::string& remedy) {
  return {"dot", std::nullopt, what, remedy};
}

Result<std::string> write_svg(const Export& input) {
  auto graph = write_dot(input);
  if (!graph) return graph;
  // Uses files, not pipes: then neither side can block while the other writes.
  const File in(std::tmpfile()), out(std::tmpfile());
  if (!in || !out || std::fwrite(graph->data(), 1, graph->size(), in.get()) != graph->size() ||
      std::fflush(in.get()) != 0 || std::fseek(in.get(), 0, SEEK_SET) != 0) {
    return failure(std::string("no temporary file: ") + std::strerror(errno), "set TMPDIR");
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(in.get()), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(out.get()), STDOUT_FILENO);
  char name[] = "dot", format[] = "-Tsvg";
  char* arguments[] = {name, format, nullptr};
  pid_t pid = 0;
  const int spawned = posix_spawnp(&pid, name, &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (spawned != 0) {
    return failure(std::string("cannot run: ") + std::strerror(spawned),
                   "install graphviz, or use --export dot");
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return failure("could not draw the graph", "raise --min, or use --export dot");
  }
  std::string svg;
  char buffer[1 << 16];
  std::rewind(out.get());
  for (std::size_t got; (got = std::fread(buffer, 1, sizeof buffer, out.get())) != 0;) {
    svg.append(buffer, got);
  }
  return svg;
}

const RegisterExporter kSvg({
    .name = "svg",
    .description = "the call graph, drawn by graphviz's dot",
    .limits = "min all",
    .write = write_svg,
});

}  // namespace
}  // namespace fbleprof::report
