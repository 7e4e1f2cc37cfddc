// A program with very many contexts: 1000 functions call each other at random, 12 levels deep.
// maze WALKS: about ten contexts a walk.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace maze {

constexpr int kRooms = 1000;
using Room = std::uint64_t (*)(std::uint64_t, int);
extern const std::array<Room, kRooms> rooms;

template <int number>
[[gnu::noinline]] std::uint64_t room(std::uint64_t state, int levels) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  if (levels == 0) return state;
  return rooms[(state >> 33) % kRooms](state, levels - 1) + number;
}

template <int... numbers>
constexpr std::array<Room, kRooms> all_rooms(std::integer_sequence<int, numbers...>) {
  return {room<numbers>...};
}
const std::array<Room, kRooms> rooms = all_rooms(std::make_integer_sequence<int, kRooms>{});

}  // namespace maze

int main(int argc, char** argv) {
  const int walks = argc > 1 ? std::atoi(argv[1]) : 1000;
  std::uint64_t sum = 0;
  for (int i = 0; i < walks; ++i) sum += maze::rooms[i % maze::kRooms](i, 11);
  std::printf("%llu\n", static_cast<unsigned long long>(sum));
}
