// Additions to RapidJSON's writer for all code that writes JSON.
#pragma once

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace fbleprof::report {

// Texts must be valid UTF-8: escape() them first.
class JsonWriter : public rapidjson::Writer<rapidjson::StringBuffer> {
 public:
  JsonWriter() : rapidjson::Writer<rapidjson::StringBuffer>(buffer_) {}

  void text(std::string_view value) {
    String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  }
  void key(std::string_view name) {
    Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
  }
  void member(std::string_view name, std::string_view value) {
    key(name);
    text(value);
  }
  void member(std::string_view name, const char* value) { member(name, std::string_view(value)); }
  void member(std::string_view name, std::uint64_t value) {
    key(name);
    Uint64(value);
  }
  // A column: "name":[value(0), ..., value(count - 1)], each written by `write_one(index)`.
  template <class WriteOne>
  void column(std::string_view name, std::size_t count, WriteOne write_one) {
    key(name);
    StartArray();
    for (std::size_t i = 0; i < count; ++i) write_one(i);
    EndArray();
  }

  std::string take() const { return {buffer_.GetString(), buffer_.GetSize()}; }

 private:
  rapidjson::StringBuffer buffer_;
};

}  // namespace fbleprof::report
