#include "report/cli/left_out.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>

#include "plan/left_out_table.h"
#include "profile/builder.h"
#include "report/cli/output.h"
#include "symbolize/all_functions.h"
#include "symbolize/debug_file.h"
#include "symbolize/table_cache.h"
#include "transform/matcher.h"

namespace fbleprof::report {

namespace {

using plan::LeftOutBoundary;
using plan::LeftOutHeader;

struct Rule {
  std::string pattern;
  bool keeps;
};

Result<std::vector<Rule>> read_filter(const std::string& text) {
  std::vector<Rule> rules;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(';', at), text.size());
    std::string pattern = text.substr(at, end - at);
    at = end + 1;
    const bool keeps = !pattern.starts_with('!');
    if (!keeps) pattern.erase(0, 1);
    if (pattern.empty()) continue;
    if (pattern.starts_with("id:")) {
      return Error{"", std::nullopt, "bad pattern \"" + pattern + "\"", "name the function"};
    }
    rules.push_back({std::move(pattern), keeps});
  }
  if (rules.empty()) return Error{"", std::nullopt, "the filter is empty", "name a function"};
  // Shows what is wrong with a pattern.
  const profile::Profile nothing = profile::ProfileBuilder().build();
  for (const Rule& rule : rules) {
    if (const auto matches = transform::match(nothing, rule.pattern); !matches) {
      return matches.error();
    }
  }
  return rules;
}

bool default_keeps(const std::vector<Rule>& rules) { return !rules.front().keeps; }

// By function of the profile: whether the rules keep it.
Result<std::vector<std::uint8_t>> kept_by(const profile::Profile& profile,
                                          const std::vector<Rule>& rules) {
  std::vector<std::uint8_t> kept(profile.functions().count(), default_keeps(rules));
  for (const Rule& rule : rules) {
    const auto matches = transform::match(profile, rule.pattern);
    if (!matches) return matches.error();
    for (std::size_t f = 0; f < kept.size(); ++f) {
      if ((*matches)[f] != 0) kept[f] = rule.keeps;
    }
  }
  return kept;
}

// The module's functions, and one more for the rest of its code.
profile::Profile functions_of(const std::string& path,
                              const std::vector<symbolize::FunctionSymbol>& symbols) {
  profile::ProfileBuilder builder;
  const profile::ModuleId module =
      builder.add_module({.path = builder.string(path), .build_id = {}, .flags = 0});
  for (const symbolize::FunctionSymbol& symbol : symbols) {
    builder.add_function({.module = module,
                          .address = symbol.begin,
                          .name = builder.string(symbol.name),
                          .file = builder.string(symbol.file),
                          .linkage_name = builder.string(symbol.linkage_name)});
  }
  builder.add_function({.module = module});
  return builder.build();
}

// The files in which names are looked for.
struct NameFiles {
  std::string paths;  // each ended by NUL
  std::uint64_t stamp = 0;
};

NameFiles name_files_of(const std::string& path, const symbolize::Options& options) {
  std::vector<std::string> all = {path};
  symbolize::OpenError error{};
  if (const auto object = symbolize::ElfObject::open(path, &error)) {
    for (std::string& place : symbolize::places_of_debug_file(*object, options.debug_roots)) {
      all.push_back(std::move(place));
    }
  }
  NameFiles files;
  for (const std::string& each : all) {
    struct stat status;
    const bool exists = stat(each.c_str(), &status) == 0;
    files.stamp = plan::add_to_stamp(files.stamp, exists ? &status : nullptr);
    files.paths.append(each).push_back('\0');
  }
  return files;
}

class Boundaries {
 public:
  explicit Boundaries(bool first_is_out) : first_is_out_(first_is_out) {}

  // From `address` on; addresses never fall.
  void add(std::uint64_t address, bool is_out) {
    if (address > std::numeric_limits<std::uint32_t>::max()) return;
    const auto at = static_cast<std::uint32_t>(address);
    if (!list_.empty() && list_.back().address == at) list_.pop_back();
    const bool before = list_.empty() ? first_is_out_ : list_.back().is_out != 0;
    if (before != is_out) list_.push_back({at, is_out ? 1u : 0u});
  }

  // The table's file.
  std::string bytes(const NameFiles& files) const {
    LeftOutHeader header{};
    std::memcpy(header.magic, plan::kLeftOutMagic, sizeof header.magic);
    header.version = plan::kLeftOutVersion;
    header.count = static_cast<std::uint32_t>(list_.size());
    header.first_is_out = first_is_out_ ? 1 : 0;
    header.paths_bytes = static_cast<std::uint32_t>(files.paths.size());
    header.stamp = files.stamp;
    std::string text(reinterpret_cast<const char*>(&header), sizeof header);
    text.append(reinterpret_cast<const char*>(list_.data()), list_.size() * sizeof list_[0]);
    return text + files.paths;
  }

 private:
  bool first_is_out_;
  std::vector<LeftOutBoundary> list_;
};

Result<std::string> table_of(const std::string& path, const std::vector<Rule>& rules) {
  symbolize::Options options;
  options.lines = std::any_of(rules.begin(), rules.end(),
                              [](const Rule& rule) { return rule.pattern.starts_with("file:"); });
  const symbolize::TableCache cache(symbolize::TableCache::default_directory());
  cache.serve(options);
  const NameFiles files = name_files_of(path, options);
  auto symbols = symbolize::symbolize_all({.path = path, .build_id = {}}, options).functions;
  std::sort(symbols.begin(), symbols.end(),
            [](const auto& a, const auto& b) { return a.begin < b.begin; });
  const auto kept = kept_by(functions_of(path, symbols), rules);
  if (!kept) return kept.error();
  const bool rest_is_out = kept->back() == 0;
  Boundaries boundaries(rest_is_out);
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const std::uint64_t end = symbols[i].begin + symbols[i].size;
    boundaries.add(symbols[i].begin, (*kept)[i] == 0);
    const bool is_followed = i + 1 < symbols.size() && symbols[i + 1].begin <= end;
    if (!is_followed && symbols[i].size != 0) boundaries.add(end, rest_is_out);
  }
  return boundaries.bytes(files);
}

// The file appears whole or not at all: two programs may make the same table at once.
Status write_whole(const std::string& path, const std::string& bytes) {
  const std::string scratch = path + "." + std::to_string(getpid());
  if (const auto failure = write_output(scratch, bytes)) return failure;
  if (std::rename(scratch.c_str(), path.c_str()) == 0) return std::nullopt;
  const int error = errno;
  std::remove(scratch.c_str());
  return Error{path, std::nullopt, std::strerror(error), ""};
}

}  // namespace

Status write_left_out_tables(const std::vector<std::string>& words) {
  if (words.empty()) return Error{"--left-out", std::nullopt, "needs a filter", ""};
  const auto rules = read_filter(words[0]);
  if (!rules) return rules.error();
  Status failure;
  for (std::size_t i = 1; i + 1 < words.size(); i += 2) {
    const auto table = table_of(words[i + 1], *rules);
    if (!table) return table.error();
    if (auto failed = write_whole(words[i], *table)) failure = failed;
  }
  return failure;
}

}  // namespace fbleprof::report
