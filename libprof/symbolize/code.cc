#include "symbolize/code.h"

#include "symbolize/symbolize_profile.h"

namespace fbleprof::symbolize {

ModuleCode::ModuleCode(const profile::Profile& profile) : profile_(profile) {
  options_.recorded_ns = start_of_earliest(profile);
}

ModuleSymbols ModuleCode::symbols(profile::ModuleId module,
                                  std::span<const std::uint64_t> addresses,
                                  bool with_inlines) const {
  Options options = options_;
  options.inlines = with_inlines;
  return symbolize_module(module_file(profile_, module), addresses, options);
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
