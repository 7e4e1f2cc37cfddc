// Strong 32-bit indices: a FunctionId is never taken for a NodeId.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace fbleprof {

// An index into the table that `Tag` names. The default value is "none".
template <class Tag>
class Id {
 public:
  static constexpr std::uint32_t kNoneValue = 0xffffffffu;

  constexpr Id() = default;
  constexpr explicit Id(std::size_t index) : value_(static_cast<std::uint32_t>(index)) {}

  static constexpr Id none() { return Id(); }
  constexpr std::uint32_t index() const { return value_; }
  constexpr bool valid() const { return value_ != kNoneValue; }
  constexpr explicit operator bool() const { return valid(); }
  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  std::uint32_t value_ = kNoneValue;
};

}  // namespace fbleprof

template <class Tag>
struct std::hash<fbleprof::Id<Tag>> {
  std::size_t operator()(fbleprof::Id<Tag> id) const noexcept {
    return std::hash<std::uint32_t>()(id.index());
  }
};
