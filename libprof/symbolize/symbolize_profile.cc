#include "symbolize/symbolize_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "symbolize/unfold_inlines.h"

namespace fbleprof::symbolize {
namespace {

using profile::FunctionKind;
using profile::StringId;

std::string unhex(std::string_view text) {
  const auto digit = [](char c) -> int {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
  };
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    const int high = digit(text[i]);
    const int low = digit(text[i + 1]);
    if (high < 0 || low < 0) return {};
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

// The questions about one module: first its functions, then its sites, then functions that have a
// name (a packed file holds it), of which only the namesakes are asked.
struct Questions {
  std::vector<std::uint32_t> functions;
  std::vector<std::uint32_t> sites;
  std::vector<std::uint32_t> named;
};

class Pass {
 public:
  Pass(const profile::Profile& source, Options options)
      : source_(source),
        options_(std::move(options)),
        strings_(source.strings()),
        functions_(source.functions()),
        sites_(source.sites()) {
    options_.lines |= options_.inlines;
    if (options_.recorded_ns == 0) options_.recorded_ns = start_of_earliest(source_);
    if (options_.inlines) {
      inlined_.at_function.resize(functions_.count());
      inlined_.at_site.resize(sites_.count());
    }
  }

  profile::Profile run() && {
    const std::vector<Questions> questions = collect();
    for (std::size_t m = 0; m < questions.size(); ++m) answer(m, questions[m]);

    profile::Parts parts = source_.parts();
    parts.strings = std::make_shared<profile::Strings>(strings_.take());
    parts.functions = std::make_shared<profile::Functions>(std::move(functions_));
    parts.sites = std::make_shared<profile::Sites>(std::move(sites_));
    parts.warnings.insert(parts.warnings.end(), warnings_.begin(), warnings_.end());
    profile::Profile named(std::move(parts));
    return options_.inlines ? unfold_inlines(named, inlined_) : named;
  }

 private:
  bool is_set(StringId text) const { return !strings_.get(text).empty(); }

  std::vector<Questions> collect() const {
    std::vector<Questions> questions(source_.modules().size());
    for (std::size_t f = 0; f < functions_.count(); ++f) {
      const FunctionKind kind = functions_.kind[f];
      const bool has_code = kind == FunctionKind::kNative || kind == FunctionKind::kInstruction;
      const bool is_known =
          is_set(functions_.name[f]) && (!options_.lines || is_set(functions_.file[f]));
      // The file's header is at 0: a function at that address is imported and its real address
      // unknown.
      const bool has_address =
          functions_.address[f] != 0 && (functions_.flags[f] & profile::kFunctionInlined) == 0;
      if (!has_code || !has_address || !functions_.module[f]) continue;
      Questions& of_module = questions[functions_.module[f].index()];
      if (!is_known) {
        of_module.functions.push_back(static_cast<std::uint32_t>(f));
      } else if (kind == FunctionKind::kNative && lacks_namesakes(f)) {
        of_module.named.push_back(static_cast<std::uint32_t>(f));
      }
    }
    for (std::size_t s = 0; options_.lines && s < sites_.count(); ++s) {
      if (!sites_.module[s] || sites_.address[s] == 0 || is_set(sites_.file[s])) continue;
      questions[sites_.module[s].index()].sites.push_back(static_cast<std::uint32_t>(s));
    }
    return questions;
  }

  bool lacks_namesakes(std::size_t f) const {
    return functions_.namesakes[f] == profile::Namesakes::kNotKnown;
  }

  void answer(std::size_t m, const Questions& questions) {
    answer_named(m, questions.named);
    std::vector<std::uint64_t> addresses;
    for (std::uint32_t f : questions.functions) addresses.push_back(functions_.address[f]);
    // A site is the instruction after the call; the call itself may be the last one of its line.
    for (std::uint32_t s : questions.sites) addresses.push_back(sites_.address[s] - 1);
    if (addresses.empty()) return;

    const ModuleFile file = module_file(source_, profile::ModuleId(m));
    ModuleSymbols symbols = symbolize_module(file, addresses, options_);
    if (!symbols.warning.empty()) warnings_.push_back(std::move(symbols.warning));
    // For another kernel's vDSO there is no file, and offsets in it mean nothing.
    for (FunctionSymbol& function : symbols.functions) {
      if (!file.is_vdso || !function.name.empty()) continue;
      function.name = "[vdso]";
      function.begin = 0;
    }

    std::size_t next = 0;
    for (std::uint32_t f : questions.functions) set_function(f, symbols, next++);
    for (std::uint32_t s : questions.sites) set_site(s, std::move(symbols.addresses[next++]));
  }

  // That the file is gone needs no warning: nothing that is shown is missing.
  void answer_named(std::size_t m, const std::vector<std::uint32_t>& named) {
    if (named.empty()) return;
    std::vector<std::uint64_t> addresses;
    for (const std::uint32_t f : named) addresses.push_back(functions_.address[f]);
    Options names_only = options_;
    names_only.lines = names_only.inlines = names_only.ask_debuginfod = false;
    const ModuleSymbols symbols =
        symbolize_module(module_file(source_, profile::ModuleId(m)), addresses, names_only);
    for (std::size_t i = 0; i < named.size(); ++i) {
      const FunctionSymbol& symbol = symbols.functions[symbols.addresses[i].function];
      const StringId linkage_name = functions_.linkage_name[named[i]];
      const StringId known = is_set(linkage_name) ? linkage_name : functions_.name[named[i]];
      if (strings_.get(known) == symbol.linkage_name) set_namesakes(named[i], symbol);
    }
  }

  void set_namesakes(std::uint32_t f, const FunctionSymbol& symbol) {
    functions_.namesakes[f] = symbol.namesakes;
    if (!symbol.unit.empty()) functions_.unit[f] = strings_.intern(symbol.unit);
  }

  void set_function(std::uint32_t f, ModuleSymbols& symbols, std::size_t index) {
    AddressSymbol& address = symbols.addresses[index];
    const FunctionSymbol& function = symbols.functions[address.function];
    const bool is_instruction = functions_.kind[f] == FunctionKind::kInstruction;
    // The unwind tables know a PLT as one function: a sample in it may be in any stub.
    if (!is_instruction && function.origin == NameOrigin::kPlt &&
        functions_.size[f] > function.size) {
      if (!is_set(functions_.name[f])) functions_.name[f] = strings_.intern(kWholePlt);
      functions_.namesakes[f] = profile::Namesakes::kNone;
      return;
    }
    if (!is_set(functions_.name[f])) {
      if (is_instruction && options_.offsets && !function.name.empty()) {
        functions_.name[f] = strings_.intern(place_name(functions_.address[f], function, address));
      } else if (is_instruction && !address.inlined.empty()) {
        set_name(f, address.inlined.front().name, address.inlined.front().linkage_name);
      } else {
        set_name(f, function.name, function.linkage_name);
      }
    }
    if (is_instruction) {
      set_innermost_line(address, &functions_.file[f], &functions_.line[f]);
      if (options_.inlines) inlined_.at_function[f] = std::move(address.inlined);
      return;
    }
    if (function.line == 0 && function.begin == functions_.address[f]) {
      set_innermost_line(address, &functions_.file[f], &functions_.line[f]);
    } else {
      set_line(function.file, function.line, &functions_.file[f], &functions_.line[f]);
    }
    set_namesakes(f, function);
    functions_.address[f] = function.begin;
    if (function.size != 0 && function.size <= UINT32_MAX) {
      functions_.size[f] = static_cast<std::uint32_t>(function.size);
    }
  }

  static std::string place_name(std::uint64_t at, const FunctionSymbol& function,
                                const AddressSymbol& address) {
    const std::uint64_t offset = at - std::min(at, function.begin);
    const std::string place = fmt::format("{}+0x{:x}", function.name, offset);
    return address.inlined.empty() ? place
                                   : fmt::format("{} ({})", address.inlined.front().name, place);
  }

  void set_name(std::uint32_t f, const std::string& name, const std::string& linkage_name) {
    if (name.empty()) return;
    functions_.name[f] = strings_.intern(name);
    if (!linkage_name.empty() && linkage_name != name) {
      functions_.linkage_name[f] = strings_.intern(linkage_name);
    }
  }

  void set_site(std::uint32_t s, AddressSymbol address) {
    set_innermost_line(address, &sites_.file[s], &sites_.line[s]);
    if (options_.inlines) inlined_.at_site[s] = std::move(address.inlined);
  }

  // The innermost function around an instruction tells its place in the source.
  void set_innermost_line(const AddressSymbol& address, StringId* file, std::uint32_t* line) {
    if (address.inlined.empty()) {
      set_line(address.file, address.line, file, line);
    } else {
      set_line(address.inlined.front().file, address.inlined.front().line, file, line);
    }
  }

  void set_line(const std::string& file, std::uint32_t line, StringId* file_id,
                std::uint32_t* line_number) {
    if (file.empty()) return;
    *file_id = strings_.intern(file);
    *line_number = line;
  }

  const profile::Profile& source_;
  Options options_;
  profile::StringInterner strings_;
  profile::Functions functions_;
  profile::Sites sites_;
  InlinedCalls inlined_;
  std::vector<std::string> warnings_;
};

}  // namespace

ModuleFile module_file(const profile::Profile& profile, profile::ModuleId module) {
  const profile::Module& row = profile.modules()[module.index()];
  // The dynamic linker lists the vDSO under a name that is not a file.
  const std::string_view path = profile.text(row.path);
  const bool is_vdso =
      (row.flags & format::kModuleIsVdso) != 0 ||
      (path.starts_with("linux-") && path.find('/') == path.npos && path.find("vdso") != path.npos);
  const bool is_packaged = path.starts_with("/usr/") || path.starts_with("/lib");
  return {std::string(path), unhex(profile.text(row.build_id)), is_vdso,
          !is_packaged || (row.flags & format::kModuleIsMain) != 0};
}

std::uint64_t start_of_earliest(const profile::Profile& profile) {
  std::uint64_t earliest = 0;
  for (const profile::Process& process : profile.processes()) {
    const std::uint64_t start = process.start_realtime_ns;
    if (start != 0 && (earliest == 0 || start < earliest)) earliest = start;
  }
  return earliest;
}

profile::Profile symbolize(const profile::Profile& profile, Options options) {
  return Pass(profile, std::move(options)).run();
}

}  // namespace fbleprof::symbolize
