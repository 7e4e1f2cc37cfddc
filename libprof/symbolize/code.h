// What the files of a profile's modules say about its code, for views, which read no files
// themselves.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "profile/profile.h"
#include "symbolize/disassembly.h"
#include "symbolize/hooked_functions.h"
#include "symbolize/source_text.h"
#include "symbolize/symbolizer.h"

namespace fbleprof::symbolize {

class Code {
 public:
  virtual ~Code() = default;

  // As symbolize_module(), of a module of the profile.
  virtual ModuleSymbols symbols(profile::ModuleId module, std::span<const std::uint64_t> addresses,
                                bool with_inlines) const = 0;
  // As disassemble().
  virtual Result<std::vector<Instruction>> instructions(profile::ModuleId module,
                                                        std::uint64_t begin,
                                                        std::uint64_t end) const = 0;
  // As symbolize::hooked_functions().
  virtual HookedFunctions hooked_functions(profile::ModuleId module) const = 0;
  virtual SourceText source(const std::string& path) const = 0;
};

// Reads the files that were loaded when `profile` was recorded, and the sources that they name.
class ModuleCode : public Code {
 public:
  // `profile` must outlive this.
  explicit ModuleCode(const profile::Profile& profile);

  ModuleSymbols symbols(profile::ModuleId module, std::span<const std::uint64_t> addresses,
                        bool with_inlines) const override;
  Result<std::vector<Instruction>> instructions(profile::ModuleId module, std::uint64_t begin,
                                                std::uint64_t end) const override;
  HookedFunctions hooked_functions(profile::ModuleId module) const override;
  SourceText source(const std::string& path) const override;

 private:
  const profile::Profile& profile_;
  Options options_;
};

}  // namespace fbleprof::symbolize
