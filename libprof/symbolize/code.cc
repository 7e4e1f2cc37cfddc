#include "symbolize/code.h"

#include <map>

#include "symbolize/symbolize_profile.h"

namespace fbleprof::symbolize {

namespace {

// Where the file that ran is gone: the lines that were packed into the profile, those of sampled
// addresses.
void add_packed_lines(const profile::Profile& profile, profile::ModuleId module,
                      std::span<const std::uint64_t> addresses, ModuleSymbols& symbols) {
  const profile::Functions& functions = profile.functions();
  std::map<std::uint64_t, std::size_t> at;
  for (std::size_t f = 0; f < functions.count(); ++f) {
    if (functions.kind[f] != profile::FunctionKind::kInstruction) continue;
    if (functions.module[f] == module && functions.line[f] != 0) at[functions.address[f]] = f;
  }
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const auto found = at.find(addresses[i]);
    if (found == at.end() || !symbols.addresses[i].file.empty()) continue;
    symbols.addresses[i].file = profile.text(functions.file[found->second]);
    symbols.addresses[i].line = functions.line[found->second];
  }
}

}  // namespace

ModuleCode::ModuleCode(const profile::Profile& profile) : profile_(profile) {
  options_.recorded_ns = start_of_earliest(profile);
}

ModuleSymbols ModuleCode::symbols(profile::ModuleId module,
                                  std::span<const std::uint64_t> addresses,
                                  bool with_inlines) const {
  Options options = options_;
  options.inlines = with_inlines;
  ModuleSymbols symbols = symbolize_module(module_file(profile_, module), addresses, options);
  if (!symbols.warning.empty()) add_packed_lines(profile_, module, addresses, symbols);
  return symbols;
}

Result<std::vector<Instruction>> ModuleCode::instructions(profile::ModuleId module,
                                                          std::uint64_t begin,
                                                          std::uint64_t end) const {
  return disassemble(module_file(profile_, module), begin, end, options_);
}

HookedFunctions ModuleCode::hooked_functions(profile::ModuleId module) const {
  Options options = options_;
  options.lines = true;
  return symbolize::hooked_functions(module_file(profile_, module), options);
}

SourceText ModuleCode::source(const std::string& path) const {
  return SourceText::read(path, options_.recorded_ns);
}

}  // namespace fbleprof::symbolize
