#include "profile/address_map.h"

#include <algorithm>
#include <numeric>

#include "format/site.h"

namespace fbleprof::profile {

void AddressMap::add(format::Ref ref, const format::Module& record, StringId path,
                     StringId build_id) {
  const auto [it, added] = module_index_.try_emplace({path, build_id}, ModuleId(modules_.size()));
  if (added) modules_.push_back({path, build_id, 0});
  modules_[it->second.index()].flags |= record.flags & ~kModuleHasTwin;
  mapping_index_.insert(ref, static_cast<std::uint32_t>(mappings_.size()));
  mappings_.push_back({record.begin, record.end, record.load_bias, record.loaded_ns, it->second});
}

const AddressMap::Mapping* AddressMap::find(format::Ref ref) const {
  const std::uint32_t at = mapping_index_.find(ref);
  return at == FlatMap::kAbsent ? nullptr : &mappings_[at];
}

// Call sites name no module: theirs is the one whose range holds the address, the newest if several
// do.
const AddressMap::Mapping* AddressMap::mapping_at(std::uint64_t address) const {
  auto it = std::upper_bound(
      by_begin_.begin(), by_begin_.end(), address,
      [&](std::uint64_t value, std::uint32_t m) { return value < mappings_[m].begin; });
  const Mapping* found = nullptr;
  for (int steps = 0; it != by_begin_.begin() && steps < 8; ++steps) {
    const Mapping& candidate = mappings_[*--it];
    if (address >= candidate.end) continue;
    if (found == nullptr || candidate.loaded_ns > found->loaded_ns) found = &candidate;
  }
  return found;
}

Sites AddressMap::take_sites(const std::function<StringId(format::Ref)>& file_of) {
  by_begin_.resize(mappings_.size());
  std::iota(by_begin_.begin(), by_begin_.end(), 0);
  std::stable_sort(by_begin_.begin(), by_begin_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return mappings_[a].begin < mappings_[b].begin;
  });
  Sites sites;
  const std::size_t count = site_addresses_.size();
  sites.module.resize(count);
  sites.address = std::move(site_addresses_);
  sites.file.resize(count);
  sites.line.resize(count);
  for (std::size_t s = 0; s < count; ++s) {
    if (sites.address[s] & format::kSiteIsPlace) {
      const std::uint64_t place = sites.address[s] & ~format::kSiteIsPlace;
      const auto file = static_cast<format::Ref>(place >> format::kPlaceLineBits);
      if (file != 0) sites.file[s] = file_of(file);
      sites.line[s] = static_cast<std::uint32_t>(place) & ((1u << format::kPlaceLineBits) - 1);
      sites.address[s] = 0;
      continue;
    }
    const Mapping* where = mapping_at(sites.address[s]);
    if (where == nullptr) continue;
    sites.module[s] = where->module;
    sites.address[s] -= where->load_bias;
  }
  return sites;
}

}  // namespace fbleprof::profile
