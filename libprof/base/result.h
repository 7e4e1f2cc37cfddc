// The result of a function that can fail: a value or an Error. Errors are printed once, in main.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace fbleprof {

// One failure, as one line: "file: offset: what: remedy". Parts that do not apply are empty.
struct Error {
  std::string file;
  std::optional<std::uint64_t> offset;  // bytes from the file's start
  std::string what;
  std::string remedy;

  std::string line() const {
    std::string text = file;
    const auto add = [&text](const std::string& part) {
      if (part.empty()) return;
      if (!text.empty()) text += ": ";
      text += part;
    };
    if (offset) add("offset " + std::to_string(*offset));
    add(what);
    add(remedy);
    return text;
  }
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

// Nothing on success, otherwise the error.
using Status = std::optional<Error>;

}  // namespace fbleprof
