// Maps an address to its object file and the place in it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "base/flat_map.h"
#include "profile/profile.h"

namespace fbleprof::profile {

// The modules of one process, at their load addresses, and the call sites in them.
class AddressMap {
 public:
  // What this process alone knows about a module.
  struct Mapping {
    std::uint64_t begin, end, load_bias, loaded_ns;
    ModuleId module;
  };

  // A module that was loaded twice is one module with two mappings.
  void add(format::Ref ref, const format::Module& record, StringId path, StringId build_id);
  // None: there is no such record.
  const Mapping* find(format::Ref ref) const;

  // The site of the call that returns to `address`: made on first use. Modules may be added later.
  SiteId site(std::uint64_t address) {
    const auto [value, added] =
        site_index_.insert(address, static_cast<std::uint32_t>(site_addresses_.size()));
    if (added) site_addresses_.push_back(address);
    return SiteId(value);
  }
  void prefetch_site(std::uint64_t address) const { site_index_.prefetch(address); }

  // Call after the last module. file_of(ref): the string of a file that a site names itself.
  Sites take_sites(const std::function<StringId(format::Ref)>& file_of);
  std::vector<Module> take_modules() { return std::move(modules_); }

 private:
  const Mapping* mapping_at(std::uint64_t address) const;

  std::vector<Module> modules_;
  std::map<std::pair<StringId, StringId>, ModuleId> module_index_;
  std::vector<Mapping> mappings_;
  std::vector<std::uint32_t> by_begin_;  // indices into mappings_
  FlatMap mapping_index_;                // by Ref
  std::vector<std::uint64_t> site_addresses_;
  FlatMap site_index_;
};

}  // namespace fbleprof::profile
