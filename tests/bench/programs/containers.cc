// The work of containers.h on a larger scale. The argument: rounds.
#include <cstdio>
#include <cstdlib>

#include "../../programs/containers.h"

int main(int count, char** arguments) {
  long sum = 0;
  for (int round = count > 1 ? std::atoi(arguments[1]) : 4; round > 0; --round) {
    std::map<std::string, std::string> map;
    fill(map, 200000);
    sum += lists(10000);
  }
  std::printf("%ld\n", sum);
}
