// write_templates TEMPLATE OUTPUT: fills in the registry's text (see describe.h). Runs when the
// program is built.
#include <cstdio>
#include <fstream>
#include <iterator>

#include "report/cli/describe.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::ifstream in(argv[1]);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  const auto filled = fbleprof::report::fill_in(text);
  if (!filled) {
    std::fprintf(stderr, "%s: %s\n", argv[1], filled.error().line().c_str());
    return 1;
  }
  std::ofstream out(argv[2]);
  out << *filled;
  return out.flush() ? 0 : 1;
}
