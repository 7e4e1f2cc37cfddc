#include "symbolize/table_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/bounded_folder.h"
#include "base/fd.h"

namespace fbleprof::symbolize {

namespace fs = std::filesystem;

namespace {

constexpr char kExtension[] = ".symbols";

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

std::string TableCache::default_directory() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/') {
    return std::string(cache) + "/fbleprof";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    return std::string(home) + "/.cache/fbleprof";
  }
  return {};
}

std::string TableCache::path_of(const std::string& key) const {
  std::string name;
  for (const char c : key) name += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return directory_ + "/" + name + kExtension;
}

template <class Parsed>
std::optional<Parsed> TableCache::read(const std::string& key,
                                       std::optional<Parsed> (*parse)(std::string_view)) const {
  if (directory_.empty()) return std::nullopt;
  const Fd file(open(path_of(key).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status;
  // Trusts only files that this user wrote: another user could plant false names.
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_uid != geteuid() || static_cast<std::uint64_t>(status.st_size) > most_bytes_) {
    return std::nullopt;
  }
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t got = ::read(file.get(), bytes.data() + size, bytes.size() - size);
    if (got <= 0) return std::nullopt;
    size += static_cast<std::size_t>(got);
  }
  auto parsed = parse(bytes);
  if (parsed) futimens(file.get(), nullptr);  // used: dropped later than others
  return parsed;
}

std::optional<SymbolTable> TableCache::find(const std::string& key) const {
  return read(key, &SymbolTable::from_bytes);
}

std::optional<KnownLines> TableCache::find_lines(const std::string& key) const {
  return read(key, &KnownLines::from_bytes);
}

void TableCache::keep_lines(const std::string& key, const KnownLines& lines) const {
  write(key, lines.to_bytes());
}

void TableCache::serve(Options& options) const {
  options.find_table = [this](const std::string& key) { return find(key); };
  options.keep_table = [this](const std::string& key, const SymbolTable& table, bool is_own) {
    keep(key, table, is_own);
  };
  options.find_lines = [this](const std::string& key) { return find_lines(key); };
  options.keep_lines = [this](const std::string& key, const KnownLines& lines) {
    keep_lines(key, lines);
  };
}

void TableCache::keep(const std::string& key, const SymbolTable& table, bool even_if_small) const {
  if (!even_if_small && table.functions().size() < fewest_functions_) return;
  write(key, table.to_bytes());
}

void TableCache::write(const std::string& key, const std::string& bytes) const {
  if (directory_.empty() || bytes.size() > most_bytes_ / 2) return;
  std::error_code ignored;
  fs::create_directories(fs::path(directory_).parent_path(), ignored);
  if (mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST) return;
  const std::string path = path_of(key);
  const std::string aside = fmt::format("{}.{}", path, getpid());
  {
    const Fd file(open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file) return;
    if (!write_all(file.get(), bytes)) {
      unlink(aside.c_str());
      return;
    }
  }
  if (rename(aside.c_str(), path.c_str()) != 0) unlink(aside.c_str());
  drop_oldest_files(directory_, kExtension, most_bytes_);
}

}  // namespace fbleprof::symbolize
