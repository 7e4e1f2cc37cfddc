// --annotate of a function that the compiler copied into its callers. It has no code of its own and
// is in no tree: only the debug information of addresses with cost mentions it.
#include <algorithm>
#include <map>
#include <set>

#include "profile/builder.h"
#include "report/views/annotated_parts.h"
#include "transform/matcher.h"

namespace fbleprof::report {

using namespace profile;
using analysis::Charge;
using analysis::PlaceChain;

namespace {

// Those of the names that match the pattern.
std::set<std::string> matching(const std::set<std::string>& names, const std::string& pattern) {
  ProfileBuilder builder;
  std::vector<FunctionId> functions;
  for (const std::string& name : names) functions.push_back(builder.named_function(name));
  const Profile profile = builder.build();
  const auto matches = transform::match(profile, pattern);
  std::set<std::string> result;
  if (!matches) return result;
  std::size_t i = 0;
  for (const std::string& name : names) {
    if ((*matches)[functions[i++].index()] != 0) result.insert(name);
  }
  return result;
}

struct Copies {
  std::vector<Charge> charges;
  std::vector<PlaceChain> chains;  // from the inlined function on
  std::set<std::string> inlined_into;
};

Annotated annotated(const Request& request, ModuleId module, const std::string& name,
                    Copies copies) {
  Annotated one;
  one.name = name;
  one.range.module = module;
  one.inlined_into.assign(copies.inlined_into.begin(), copies.inlined_into.end());
  one.costs.instructions = analysis::by_address(copies.charges);
  std::uint32_t until = 0;
  for (const Charge& charge : copies.charges) {
    one.costs.in_code += charge.own;
    if (charge.node < until) continue;
    until = charge.end;
    one.costs.total += charge.total;
  }
  one.lines = analysis::line_rows(copies.charges, copies.chains);
  find_extent(one, copies.chains);
  read_sources(request, copies.chains, one);
  one.costs.charges = std::move(copies.charges);
  return one;
}

}  // namespace

std::vector<Annotated> inlined_functions(const Request& request,
                                         const std::vector<Charge>& charges) {
  std::map<ModuleId, std::vector<Charge>> by_module;
  for (const Charge& charge : charges) {
    if (charge.module) by_module[charge.module].push_back(charge);
  }
  std::vector<Annotated> result;
  for (const auto& [module, own] : by_module) {
    std::vector<std::uint64_t> addresses;
    for (const Charge& charge : own) addresses.push_back(charge.address);
    const symbolize::ModuleSymbols symbols = request.code->symbols(module, addresses, true);
    std::set<std::string> names;
    for (const symbolize::AddressSymbol& address : symbols.addresses) {
      for (const symbolize::SourceFrame& frame : address.inlined) names.insert(frame.name);
    }
    const std::set<std::string> wanted = matching(names, request.value);
    if (wanted.empty()) continue;
    std::map<std::string, Copies> found;
    for (std::size_t i = 0; i < own.size(); ++i) {
      const symbolize::AddressSymbol& address = symbols.addresses[i];
      const PlaceChain chain = chain_of(symbols, i, symbols.functions[address.function].name);
      std::set<std::string> met;  // a function inlined into itself is listed once
      for (std::size_t k = 1; k < chain.size(); ++k) {
        const std::string& name = chain[k].function;
        if (wanted.count(name) == 0 || !met.insert(name).second) continue;
        Copies& copies = found[name];
        copies.charges.push_back(own[i]);
        copies.chains.emplace_back(chain.begin() + static_cast<std::ptrdiff_t>(k), chain.end());
        copies.inlined_into.insert(chain.front().function);
      }
    }
    for (auto& [name, copies] : found) {
      result.push_back(annotated(request, module, name, std::move(copies)));
    }
  }
  return result;
}

}  // namespace fbleprof::report
