#include "report/importers/gzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <memory>

namespace fbleprof::importers {
namespace {

constexpr std::size_t kAlwaysAllowedBytes = 64u << 20;
constexpr std::size_t kMostExpansion = 256;
constexpr std::size_t kStepBytes = 1u << 20;
constexpr int kGzipWindow = 15 + 16;
constexpr std::string_view kMagic = "\x1f\x8b";

struct End {
  void operator()(z_stream* stream) const { inflateEnd(stream); }
};

}  // namespace

Result<std::string> gunzip(std::string_view bytes, const std::string& name) {
  const std::size_t limit = std::max(kAlwaysAllowedBytes, bytes.size() * kMostExpansion);
  z_stream stream{};
  if (inflateInit2(&stream, kGzipWindow) != Z_OK) {
    return Error{name, {}, "no memory to decompress it", {}};
  }
  const std::unique_ptr<z_stream, End> at_end(&stream);
  std::string out;
  std::size_t taken = 0, filled = 0;
  const auto offset = [&] { return taken - stream.avail_in; };
  for (;;) {
    if (stream.avail_in == 0 && taken < bytes.size()) {
      const std::size_t step = std::min(kStepBytes, bytes.size() - taken);
      // zlib's pointers lack a const, but zlib does not write through them.
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + taken));
      stream.avail_in = static_cast<uInt>(step);
      taken += step;
    }
    if (filled == out.size())
      out.resize(std::min(limit + 1, std::max(filled * 2, bytes.size() * 4 + 64)));
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + filled);
    stream.avail_out = static_cast<uInt>(std::min(kStepBytes, out.size() - filled));
    const std::size_t room = stream.avail_out;
    const int status = inflate(&stream, Z_NO_FLUSH);
    filled += room - stream.avail_out;
    if (filled > limit) {
      return Error{name, offset(), fmt::format("expands to more than {} bytes", limit),
                   "no profile does; is this one?"};
    }
    if (status == Z_STREAM_END) {
      // A file may hold several streams. Zeros fill the last block of a tape or device.
      const std::string_view rest = bytes.substr(offset());
      if (rest.find_first_not_of('\0') == std::string_view::npos) break;
      if (!rest.starts_with(kMagic)) {
        return Error{name, offset(), "something else follows the gzip data", "copy the file again"};
      }
      if (inflateReset(&stream) != Z_OK) break;
      continue;
    }
    if (status == Z_BUF_ERROR || (status == Z_OK && room == stream.avail_out)) {
      if (stream.avail_in == 0 && taken == bytes.size()) {
        return Error{name, bytes.size(), "the gzip data ends too early", "copy the file again"};
      }
      continue;
    }
    if (status != Z_OK) {
      return Error{name, offset(),
                   fmt::format("damaged gzip data{}{}", stream.msg != nullptr ? ": " : "",
                               stream.msg != nullptr ? stream.msg : ""),
                   "copy the file again"};
    }
  }
  out.resize(filled);
  return out;
}

}  // namespace fbleprof::importers
