// Formats figures for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fbleprof::report {

// A value of a metric whose unit is ns, bytes or anything else (a count). `wanted` is the value of
// --unit: "auto", or one of ns us ms s, B KiB MiB GiB; one that does not fit the metric is ignored.
std::string quantity(std::uint64_t value, std::string_view unit, std::string_view wanted = "auto");

// 1234567 -> "1,234,567".
std::string count(std::uint64_t value);

// "1 call", "1,234 calls", "2 processes".
std::string counted(std::uint64_t value, std::string_view one);
// The word alone.
std::string plural(std::uint64_t value, std::string_view one);

// "12.3%"; "-" if the whole is zero.
std::string percent(std::uint64_t part, std::uint64_t whole);
double percent_of(std::uint64_t part, std::uint64_t whole);

bool is_known_unit(std::string_view unit);
// Values of --unit, other than auto, for a metric of that unit, separated by blanks; "" = none.
std::string_view units_for(std::string_view unit);

}  // namespace fbleprof::report
