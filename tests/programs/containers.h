// Allocates as C++ programs do: a map of strings, vectors of small blocks.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

__attribute__((noinline)) static void fill(std::map<std::string, std::string>& map, int n) {
  for (int i = 0; i < n; ++i) {
    map["key number " + std::to_string(i * 7919 % n) + " of the map"] =
        "the value of entry " + std::to_string(i);
  }
}

__attribute__((noinline)) static long lists(int n) {
  long sum = 0;
  for (int round = 0; round < n; ++round) {
    std::vector<std::unique_ptr<int>> all;
    for (int i = 0; i < 100; ++i) all.push_back(std::make_unique<int>(i));
    for (auto& one : all) sum += *one;
  }
  return sum;
}
