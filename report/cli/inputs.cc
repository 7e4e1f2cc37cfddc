#include "report/cli/inputs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

#include "profile/missing_file.h"
#include "profile/pack.h"
#include "profile/plain_run.h"
#include "profile/reader.h"
#include "report/cli/directories.h"
#include "report/importers/file_kind.h"
#include "report/importers/folded.h"
#include "report/importers/gmon.h"
#include "report/importers/gzip.h"
#include "report/importers/perf_script.h"
#include "report/importers/pprof.h"
#include "report/importers/speedscope.h"
#include "symbolize/name_generated_code.h"
#include "symbolize/symbolizer.h"

namespace fbleprof::report {

using importers::FileKind;
using profile::Profile;

namespace {

constexpr std::size_t kStepBytes = 1u << 20;

// Profiles in directories were named before, except for --diff and the like.
Error is_a_directory(const std::string& name) {
  if (with_directories_read({name}).front() != name) {
    return {name, {}, "is a directory", "name the mlmon.out in it"};
  }
  return {name, {}, "is a directory without profiles", "run the program first: fble-prof ./prog"};
}

// A file or pipe, read once from its beginning.
class Source {
 public:
  static Result<Source> open(const std::string& name) {
    if (name == "-") return Source("stdin", STDIN_FILENO, false);
    // Non-blocking: a FIFO without a writer is empty instead of blocking forever.
    const int fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
      const int error = errno;
      return Error{name,
                   {},
                   fmt::format("cannot open: {}", std::strerror(error)),
                   error == ENOENT ? profile::kAdviceIfMissing : ""};
    }
    Source source(name, fd, true);
    struct stat status;
    if (fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) {
      return is_a_directory(name);
    }
    source.is_regular_ = S_ISREG(status.st_mode);
    if (!source.is_regular_ && !S_ISFIFO(status.st_mode)) {
      return Error{name, {}, "is neither a file nor a pipe", "name a profile"};
    }
    fcntl(fd, F_SETFL, 0);
    return source;
  }
  Source(Source&& other) noexcept
      : name_(std::move(other.name_)),
        fd_(other.fd_),
        is_mine_(std::exchange(other.is_mine_, false)),
        is_regular_(other.is_regular_),
        taken_(other.taken_) {}
  ~Source() {
    if (is_mine_) close(fd_);
  }

  const std::string& name() const { return name_; }
  bool is_regular() const { return is_regular_; }

  // Appends up to `most` bytes; fewer only at the end.
  Status read(std::size_t most, std::string& out) {
    const std::size_t begin = out.size();
    std::size_t done = 0;
    while (done < most) {
      const std::size_t step = std::min(kStepBytes, most - done);
      out.resize(begin + done + step);
      const ssize_t got = ::read(fd_, out.data() + begin + done, step);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) {
        return Error{name_, taken_, fmt::format("cannot read: {}", std::strerror(errno)), {}};
      }
      done += static_cast<std::size_t>(got);
      taken_ += static_cast<std::size_t>(got);
      if (got == 0) break;
    }
    out.resize(begin + done);
    return {};
  }

 private:
  Source(std::string name, int fd, bool is_mine)
      : name_(std::move(name)), fd_(fd), is_mine_(is_mine) {}

  std::string name_;
  int fd_;
  bool is_mine_;
  bool is_regular_ = false;
  std::uint64_t taken_ = 0;
};

std::unique_ptr<importers::TextParser> text_parser(FileKind kind, const std::string& name) {
  if (kind == FileKind::kPerfScript) return std::make_unique<importers::PerfScriptParser>(name);
  if (kind == FileKind::kFolded) return std::make_unique<importers::FoldedParser>(name);
  return nullptr;
}

// Passes lines on as they come; keeps only the text after the last line's end.
Result<Profile> stream_text(importers::TextParser& parser, Source& source, std::string held) {
  for (;;) {
    std::size_t begin = 0;
    for (std::size_t end; (end = held.find('\n', begin)) != std::string::npos; begin = end + 1) {
      if (Status bad = parser.line(std::string_view(held).substr(begin, end - begin))) return *bad;
    }
    held.erase(0, begin);
    const std::size_t before = held.size();
    if (Status bad = source.read(std::max(kStepBytes, before), held)) return *bad;
    if (held.size() == before) break;
  }
  if (!held.empty()) {
    if (Status bad = parser.line(held)) return *bad;
  }
  return parser.finish();
}

// The sampled run in the file. None: there is no such run or file, or it is a pipe.
std::optional<std::vector<std::byte>> plain_run_bytes(const std::string& file) {
  if (file == "-") return std::nullopt;
  auto source = Source::open(file);
  if (!source || !source->is_regular()) return std::nullopt;
  std::string head;
  if (source->read(importers::kDetectBytes, head)) return std::nullopt;
  const FileKind kind = importers::detect(head);
  if (kind == FileKind::kNative) return profile::plain_run_of(file);
  if (kind != FileKind::kGzip) return std::nullopt;
  if (source->read(std::string::npos - head.size(), head)) return std::nullopt;
  const auto expanded = importers::gunzip(head, file);
  if (!expanded) return std::nullopt;
  const auto plain = profile::plain_run_in(std::as_bytes(std::span(*expanded)));
  if (plain.empty()) return std::nullopt;
  return std::vector<std::byte>(plain.begin(), plain.end());
}

class Inputs {
 public:
  Inputs(const std::vector<std::string>& files, const InputOptions& options)
      : files_(files), options_(options) {}

  // No profile and no error: the file is a program that another file needs.
  Result<std::optional<Profile>> read(const std::string& file) {
    if (options_.plain_runs) return plain_run(file);
    auto source = Source::open(file);
    if (!source) return source.error();
    std::string head;
    if (Status bad = source->read(importers::kDetectBytes, head)) return *bad;
    const FileKind kind = importers::detect(head);
    can_read_again_ = source->is_regular() && file != "-";
    plain_runs_.any_piped |= !can_read_again_;
    // The reader of mlmon.out reads a live program's file in its own order.
    if (kind == FileKind::kNative && source->is_regular()) return native(file);
    if (auto parser = text_parser(kind, source->name())) {
      return wrap(stream_text(*parser, *source, std::move(head)));
    }
    if (kind == FileKind::kElf) {
      if (has_gmon_ || any_is(FileKind::kGmon)) return std::optional<Profile>();
      return Error{source->name(),
                   {},
                   "this is a program or library, not its profile",
                   "name the profile, or gmon.out and then the program"};
    }
    const bool is_whole_needed = kind == FileKind::kNative || kind == FileKind::kGzip ||
                                 kind == FileKind::kPprof || kind == FileKind::kGmon ||
                                 kind == FileKind::kSpeedscope;
    if (is_whole_needed) {
      if (Status bad = source->read(std::string::npos - head.size(), head)) return *bad;
    }
    return wrap(parse(kind, head, source->name()));
  }

  const PlainRuns& plain_runs() const { return plain_runs_; }

 private:
  static Result<std::optional<Profile>> wrap(Result<Profile> profile) {
    if (!profile) return profile.error();
    return std::optional<Profile>(std::move(*profile));
  }

  // A file that was cut before its first context shows nothing, although something was recorded.
  static Status check_rest(const profile::ReadResult& read, const std::string& name) {
    if (!read.is_truncated || read.profile.nodes().count() != 0) return {};
    return Error{name, {}, "the file ends before its first context", "nothing is left to show"};
  }

  Result<std::optional<Profile>> plain_run(const std::string& file) const {
    const auto bytes = plain_run_bytes(file);
    if (!bytes) return std::optional<Profile>();
    auto read = profile::read_bytes(*bytes, file + " (its sampled run)");
    if (!read) return read.error();
    return std::optional<Profile>(named(read->profile));
  }

  Profile named(const Profile& profile) const {
    return options_.symbols ? symbolize::name_generated_code(profile) : profile;
  }

  // A killed program leaves its profile as large as its memory limit, mostly as a hole. Whether
  // this user may cut it does not matter to the report.
  static void cut_unused_space(const Profile& profile, const std::string& file) {
    const auto& processes = profile.processes();
    if (processes.size() != 1 || processes[0].state != profile::ProcessState::kKilled) return;
    (void)profile::trim(file);
  }

  Profile with_plain_run(const Profile& profile, const std::string& file) {
    plain_runs_.any = true;
    if (can_read_again_) plain_runs_.files.insert(file);
    profile::Parts parts = profile.parts();
    auto processes = std::make_shared<std::vector<profile::Process>>(*parts.processes);
    for (profile::Process& process : *processes) process.has_sampled_run = true;
    parts.processes = std::move(processes);
    return Profile(std::move(parts));
  }

  Result<std::optional<Profile>> native(const std::string& file) {
    profile::ReadOptions how;
    // For many files, shows the number read instead of the progress in each.
    if (files_.size() == 1) how.progress = options_.progress;
    auto read = profile::read_file(file, how);
    if (!read) return read.error();
    if (Status bad = check_rest(*read, file)) return *bad;
    cut_unused_space(read->profile, file);
    const Profile profile = named(read->profile);
    if (!profile::has_plain_run(file)) return std::optional<Profile>(profile);
    return std::optional<Profile>(with_plain_run(profile, file));
  }

  Result<Profile> parse(FileKind kind, std::string_view bytes, const std::string& name,
                        bool was_compressed = false) {
    switch (kind) {
      case FileKind::kNative: {
        const auto file = std::as_bytes(std::span(bytes));
        auto read = profile::read_bytes(file, name);
        if (!read) return read.error();
        if (Status bad = check_rest(*read, name)) return *bad;
        const Profile profile = named(read->profile);
        return profile::plain_run_in(file).empty() ? profile : with_plain_run(profile, name);
      }
      case FileKind::kGzip: {
        if (was_compressed) break;
        auto expanded = importers::gunzip(bytes, name);
        if (!expanded) return expanded.error();
        return parse(
            importers::detect(std::string_view(*expanded).substr(0, importers::kDetectBytes)),
            *expanded, name, true);
      }
      case FileKind::kPprof:
        return importers::parse_pprof(bytes, name);
      case FileKind::kSpeedscope:
        return importers::parse_speedscope(bytes, name);
      case FileKind::kPerfScript:
      case FileKind::kFolded:
        return importers::parse_text(*text_parser(kind, name), bytes);
      case FileKind::kGmon:
        return gmon(bytes, name);
      case FileKind::kEmpty:
        return Error{name, {}, "empty file", "did its program never run, or was the disk full?"};
      case FileKind::kPerfData:
        return Error{name,
                     {},
                     "this is perf.data, of perf record",
                     fmt::format("perf script -i {} | fble-prof-report -", name)};
      case FileKind::kWriteOnly:
        return Error{name,
                     {},
                     fmt::format("this is {}, which is written but not read here",
                                 importers::write_only_format(bytes)),
                     "name the profile that it was made of, or export that as pprof"};
      default:
        break;
    }
    return Error{name,
                 {},
                 "not a profile in any known format",
                 "known formats: mlmon.out, `perf script` text, folded stacks, pprof, speedscope "
                 "and gmon.out"};
  }

  bool any_is(FileKind kind) const { return !first_of(kind).empty(); }

  // Only regular files can be inspected without consuming data.
  std::string first_of(FileKind kind) const {
    for (const std::string& file : files_) {
      if (file == "-") continue;
      auto source = Source::open(file);
      std::string head;
      if (!source || !source->is_regular() || source->read(16, head)) continue;
      if (importers::detect(head) == kind) return file;
    }
    return {};
  }

  Result<Profile> gmon(std::string_view bytes, const std::string& name) {
    const std::string program = first_of(FileKind::kElf);
    if (program.empty()) {
      return Error{name,
                   {},
                   "gmon.out has addresses only",
                   fmt::format("name its program as well: fble-prof-report {} PROGRAM", name)};
    }
    const auto read = importers::read_gmon(bytes, name);
    if (!read) return read.error();
    has_gmon_ = true;
    const std::vector<std::uint64_t> addresses = importers::gmon_addresses(*read);
    const symbolize::ModuleSymbols symbols =
        symbolize::symbolize_module({program, {}, false}, addresses, {});
    std::vector<importers::GmonFunction> functions;
    functions.reserve(addresses.size());
    for (const symbolize::AddressSymbol& address : symbols.addresses) {
      const symbolize::FunctionSymbol& f = symbols.functions[address.function];
      functions.push_back({f.begin, f.size, f.name, f.linkage_name});
    }
    return importers::gmon_profile(*read, functions, name, program);
  }

  const std::vector<std::string>& files_;
  const InputOptions& options_;
  bool can_read_again_ = false;  // the file that is read now
  bool has_gmon_ = false;        // one was read; only here are those seen that pipes or gzip hide
  PlainRuns plain_runs_;
};

}  // namespace

Status read_inputs(const std::vector<std::string>& files, const InputOptions& options,
                   const std::function<void(Profile)>& take, std::vector<std::string>& warnings,
                   PlainRuns& plain_runs) {
  Inputs inputs(files, options);
  bool any = false;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (options.progress != nullptr && files.size() > 1) {
      options.progress->update("reading files", i, files.size());
    }
    auto profile = inputs.read(files[i]);
    if (!profile) {
      if (!options.tolerant) return profile.error();
      warnings.push_back(profile.error().line() + " (skipped)");
      continue;
    }
    if (!*profile) continue;
    any = true;
    take(std::move(**profile));
  }
  plain_runs.files.merge(std::set(inputs.plain_runs().files));
  plain_runs.any |= inputs.plain_runs().any;
  plain_runs.any_piped |= inputs.plain_runs().any_piped;
  if (!any) {
    return Error{"fble-prof-report",
                 {},
                 "none of these files could be read",
                 warnings.empty() ? "" : warnings.back()};
  }
  return {};
}

Result<profile::FileImage> load_image(const std::string& file) {
  if (file != "-") return profile::FileImage::load(file);
  auto source = Source::open(file);
  if (!source) return source.error();
  std::string bytes;
  if (Status bad = source->read(std::string::npos, bytes)) return *bad;
  return profile::FileImage::from_bytes(std::as_bytes(std::span(bytes)), source->name());
}

}  // namespace fbleprof::report
