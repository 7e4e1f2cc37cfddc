// Runs the linked tests of RE2 repeatedly: re2_tests TIMES. Replaces RE2's util/test.cc.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace testing {
std::string TempDir() { return "/tmp/"; }
}  // namespace testing

static std::vector<void (*)()>& tests() {
  static std::vector<void (*)()> all;
  return all;
}

void RegisterTest(void (*test)(), const char*) { tests().push_back(test); }

int main(int argc, char** argv) {
  const int times = argc > 1 ? std::atoi(argv[1]) : 1;
  for (int i = 0; i < times; ++i) {
    for (const auto test : tests()) test();
  }
  std::printf("%zu tests\n", tests().size());
}
