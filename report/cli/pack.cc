#include "report/cli/pack.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <span>
#include <system_error>

#include "profile/pack.h"
#include "profile/plain_run.h"
#include "profile/reader.h"
#include "report/cli/output.h"
#include "report/text/escape.h"
#include "report/text/quantity.h"
#include "symbolize/name_generated_code.h"
#include "symbolize/symbolize_profile.h"
#include "symbolize/table_cache.h"

namespace fbleprof::report {
namespace {

Error failure(const std::string& file, const char* what) {
  return {file, {}, fmt::format("{}: {}", what, std::strerror(errno)), {}};
}

// The used part of the file; the space that a killed program reserved after it is not read.
Result<std::vector<std::byte>> read_used(const std::string& file) {
  const auto image = profile::FileImage::load(file);
  if (!image) return image.error();
  std::vector<std::byte> bytes(image->size());
  if (image->read(bytes.data(), bytes.size(), 0) != bytes.size()) {
    return failure(file, "cannot read");
  }
  return bytes;
}

// The file that links lead to: -o follows links, as a shell's > does, and a packed profile is
// replaced where it is.
std::string behind_links(std::string file) {
  constexpr int kMostLinks = 40;  // as many as the kernel follows
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code no_link;
    const auto target = std::filesystem::read_symlink(file, no_link);
    if (no_link) break;
    file = std::filesystem::path(file).replace_filename(target).string();
  }
  return file;
}

// "-", a pipe or a device: there is nothing to replace.
bool is_stream(const std::string& file) {
  struct stat status;
  return file == "-" || (!file.empty() && stat(file.c_str(), &status) == 0 &&
                         !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode));
}

// The new file replaces the old one in one step: a reader sees one of the two. It has the old
// one's mode and, if this user may give files away, its owner.
Status replace(const std::string& file, const std::vector<std::byte>& bytes) {
  const std::string made = file + ".packing";
  std::remove(made.c_str());
  const int fd = open(made.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return failure(made, "cannot write");
  struct stat old;
  if (lstat(file.c_str(), &old) == 0 && S_ISREG(old.st_mode)) {
    (void)!fchown(fd, old.st_uid, old.st_gid);
    (void)fchmod(fd, old.st_mode & 0777);
  }
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t step = write(fd, bytes.data() + done, bytes.size() - done);
    if (step < 0 && errno == EINTR) continue;
    if (step <= 0) break;
    done += static_cast<std::size_t>(step);
  }
  if (close(fd) == 0 && done == bytes.size() && rename(made.c_str(), file.c_str()) == 0) return {};
  const Error error = failure(file, "cannot write");
  std::remove(made.c_str());
  return error;
}

struct Packed {
  std::vector<std::byte> bytes;
  std::size_t names = 0, nameless = 0;
  std::vector<std::string> warnings;
};

Result<Packed> packed(std::vector<std::byte> bytes, const profile::Profile& profile,
                      const std::string& file, Progress& progress) {
  symbolize::Options how;
  how.lines = true;
  how.progress = &progress;
  const symbolize::TableCache cache(symbolize::TableCache::default_directory());
  cache.serve(how);
  const profile::Profile named = symbolize::symbolize(symbolize::name_generated_code(profile), how);
  Packed result;
  const profile::Functions& functions = named.functions();
  for (std::size_t f = 0; f < functions.count(); ++f) {
    if (functions.kind[f] != profile::FunctionKind::kNative) continue;
    (named.text(functions.name[f]).empty() ? result.nameless : result.names) += 1;
  }
  auto made = profile::pack(std::move(bytes), file, named);
  if (!made) return made.error();
  result.bytes = std::move(*made);
  result.warnings = named.warnings();
  return result;
}

// The sampled run in the file needs the same names: its times are matched by name.
Status pack_plain_run(const std::string& file, std::vector<std::byte>& bytes, Progress& progress) {
  auto plain = profile::plain_run_of(file);
  if (!plain) return {};
  auto read = profile::read_bytes(*plain, file);
  if (!read) return read.error();
  auto made = packed(std::move(*plain), read->profile, file, progress);
  if (!made) return made.error();
  profile::append_plain_run(bytes, made->bytes);
  return {};
}

Status check_inputs(const Options& options, const char* change) {
  for (const std::string& file : options.files) {
    if (file != "-") continue;
    return Error{"stdin", {}, fmt::format("only a file can be {}", change), "name the profile"};
  }
  return {};
}

// Returns what was done, a line each.
Result<std::vector<std::string>> pack_file(const std::string& file, const std::string& output,
                                           Progress& progress) {
  // Where a link leads is asked once: what is replaced is what was read.
  const bool is_in_place = output.empty();
  const std::string from = is_in_place && !is_stream(file) ? behind_links(file) : file;
  auto bytes = read_used(from);
  if (!bytes) return bytes.error();
  auto read = profile::read_bytes(*bytes, from);
  if (!read) return read.error();
  if (read->profile.processes()[0].state == profile::ProcessState::kLive && is_in_place) {
    return Error{file, {}, "its program still runs", "pack it at the end, or into a copy: -o FILE"};
  }
  auto made = packed(std::move(*bytes), read->profile, from, progress);
  if (!made) return made.error();
  if (Status bad = pack_plain_run(from, made->bytes, progress)) return *bad;
  const Status bad = is_stream(output)
                         ? write_output(output, {reinterpret_cast<const char*>(made->bytes.data()),
                                                 made->bytes.size()})
                         : replace(is_in_place ? from : behind_links(output), made->bytes);
  if (bad) return *bad;
  const std::string to = is_in_place ? file : output == "-" ? "stdout" : output;
  std::vector<std::string> lines = {
      fmt::format("{}: {} named", escape(to), counted(made->names, "function"))};
  if (made->nameless != 0) {
    lines[0] +=
        fmt::format(", {} {} no name", count(made->nameless), made->nameless == 1 ? "has" : "have");
  }
  for (const std::string& warning : made->warnings) lines.push_back(escape(warning));
  return lines;
}

}  // namespace

Result<Report> pack_files(const Options& options, Progress& progress) {
  if (Status bad = check_inputs(options, "packed")) return *bad;
  if (!options.output.empty() && options.files.size() != 1) {
    return Error{"--pack", {}, "several profiles do not fit into one file", "leave out -o"};
  }
  if (!options.output.empty()) {
    if (Status bad = check_output(options.output, true)) return *bad;
  }
  Report report;
  for (const std::string& file : options.files) {
    auto lines = pack_file(file, options.output, progress);
    if (!lines) {
      if (!options.tolerant) return lines.error();
      report.warnings.push_back(lines.error().line() + " (skipped)");
      continue;
    }
    // What was done is said beside the profile, not in it.
    if (is_stream(options.output)) {
      report.warnings = std::move(*lines);
    } else {
      report.text += fmt::format("{}\n", fmt::join(*lines, "\n"));
    }
  }
  return report;
}

Result<Report> trim_files(const Options& options) {
  if (Status bad = check_inputs(options, "trimmed")) return *bad;
  Report report;
  for (const std::string& file : options.files) {
    const auto cut = profile::trim(file);
    if (!cut) {
      if (!options.tolerant) return cut.error();
      report.warnings.push_back(cut.error().line() + " (skipped)");
      continue;
    }
    report.text += *cut == 0
                       ? fmt::format("{}: nothing to cut off\n", escape(file))
                       : fmt::format("{}: {} cut off\n", escape(file), quantity(*cut, "bytes"));
  }
  return report;
}

}  // namespace fbleprof::report
