#include "report/views/annotated.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "analysis/sampled.h"
#include "report/text/escape.h"
#include "report/views/annotated_parts.h"
#include "report/views/phrases.h"
#include "transform/matcher.h"

namespace fbleprof::report {

using namespace profile;
using analysis::CodeRange;
using analysis::Place;
using analysis::PlaceChain;

namespace {

// The code that the pattern selects: of functions on the stack, and of those that only samples saw.
class Targets {
 public:
  Targets(const Request& request, const std::vector<std::uint8_t>& matches)
      : functions_(request.profile().functions()), stands_(functions_.count()) {
    for (const FunctionId f : request.profile().nodes().function) stands_[f.index()] = 1;
    std::map<ModuleId, std::vector<std::uint64_t>> sampled;
    for (std::size_t f = 0; f < functions_.count(); ++f) {
      const ModuleId module = functions_.module[f];
      const std::uint64_t address = functions_.address[f];
      if (matches[f] == 0 || !module) continue;
      if (functions_.kind[f] == FunctionKind::kNative && functions_.size[f] != 0) {
        add({module, address, address + functions_.size[f]}, FunctionId(f));
      } else if (functions_.kind[f] == FunctionKind::kInstruction) {
        sampled[module].push_back(address);
        name_at_[{module, address}] = FunctionId(f);
      }
    }
    for (const auto& [module, addresses] : sampled) add_sampled(request, module, addresses);
    find_functions();
  }

  // By range: a function with its name.
  const std::map<CodeRange, FunctionId>& ranges() const { return ranges_; }
  // The name of the range's code. A sampled address is called after what was inlined there.
  std::string name_of(const Profile& profile, const CodeRange& range) const {
    const auto symbol = symbol_of_.find(range);
    return symbol != symbol_of_.end() ? symbol->second : display_name(profile, ranges_.at(range));
  }

  // The functions whose code is the range, in order.
  std::vector<FunctionId> functions_of(const CodeRange& range) const {
    const auto here = at_.find({range.module, range.begin});
    if (here != at_.end() && std::any_of(here->second.begin(), here->second.end(),
                                         [&](FunctionId f) { return stands_[f.index()] != 0; })) {
      return here->second;
    }
    // A part that the compiler split off is in the tree under its function.
    const FunctionId named = ranges_.at(range);
    const auto called_so = called_.find(name_of(named));
    return called_so != called_.end() ? called_so->second : std::vector<FunctionId>();
  }

 private:
  // By its begin the end of each stretch of a module's code that is in ranges.
  using Stretches = std::map<std::uint64_t, std::uint64_t>;

  void add(const CodeRange& range, FunctionId function) {
    ranges_.try_emplace(range, function);
    if (range.end <= range.begin) return;  // beyond the last address: the file is damaged
    Stretches& known = known_[range.module];
    std::uint64_t begin = range.begin, end = range.end;
    auto next = known.upper_bound(begin);
    if (next != known.begin() && std::prev(next)->second >= begin) {
      --next;
      begin = next->first;
    }
    while (next != known.end() && next->first <= end) {
      end = std::max(end, next->second);
      next = known.erase(next);
    }
    known[begin] = end;
  }

  bool is_known(ModuleId module, std::uint64_t address) const {
    const auto known = known_.find(module);
    if (known == known_.end()) return false;
    const auto next = known->second.upper_bound(address);
    return next != known->second.begin() && address < std::prev(next)->second;
  }

  void add_sampled(const Request& request, ModuleId module,
                   const std::vector<std::uint64_t>& addresses) {
    const symbolize::ModuleSymbols symbols = request.code->symbols(module, addresses, false);
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      if (is_known(module, addresses[i])) continue;
      const symbolize::FunctionSymbol& symbol = symbols.functions[symbols.addresses[i].function];
      const std::uint64_t size = std::max(symbol.size, addresses[i] - symbol.begin + 1);
      const CodeRange range{module, symbol.begin, symbol.begin + size};
      add(range, name_at_[{module, addresses[i]}]);
      if (!symbol.name.empty()) symbol_of_[range] = symbol.name;
    }
  }

  // Module, name, and what tells static functions of that name apart.
  using Name = std::tuple<ModuleId, StringId, StringId>;

  Name name_of(FunctionId function) const {
    const std::size_t f = function.index();
    return {functions_.module[f], functions_.name[f], functions_.distinction(function)};
  }

  // For functions_of.
  void find_functions() {
    for (const auto& [range, function] : ranges_) {
      at_[{range.module, range.begin}];
      called_[name_of(function)];
    }
    for (std::size_t f = 0; f < functions_.count(); ++f) {
      if (functions_.kind[f] != FunctionKind::kNative) continue;
      const auto here = at_.find({functions_.module[f], functions_.address[f]});
      if (here != at_.end()) here->second.push_back(FunctionId(f));
      const auto called_so = called_.find(name_of(FunctionId(f)));
      if (called_so != called_.end()) called_so->second.push_back(FunctionId(f));
    }
  }

  const Functions& functions_;
  std::vector<std::uint8_t> stands_;  // by function: whether it is in the tree
  // Functions of native code at the begin of a range, and with the name of one.
  std::map<std::pair<ModuleId, std::uint64_t>, std::vector<FunctionId>> at_;
  std::map<Name, std::vector<FunctionId>> called_;
  std::map<CodeRange, FunctionId> ranges_;
  std::map<ModuleId, Stretches> known_;
  std::map<CodeRange, std::string> symbol_of_;  // of ranges that only samples saw
  std::map<std::pair<ModuleId, std::uint64_t>, FunctionId> name_at_;
};

}  // namespace

PlaceChain chain_of(const symbolize::ModuleSymbols& symbols, std::size_t i,
                    const std::string& name) {
  const symbolize::AddressSymbol& address = symbols.addresses[i];
  PlaceChain chain{{name, address.file, address.line}};
  for (auto frame = address.inlined.rbegin(); frame != address.inlined.rend(); ++frame) {
    chain.push_back({frame->name, frame->file, frame->line});
  }
  return chain;
}

void find_extent(Annotated& out, const std::vector<PlaceChain>& chains) {
  std::map<std::string, std::size_t> uses;
  for (const PlaceChain& chain : chains) {
    if (!chain.front().file.empty()) ++uses[chain.front().file];
  }
  const auto most = std::max_element(
      uses.begin(), uses.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == uses.end()) return;
  out.file = most->first;
  for (const PlaceChain& chain : chains) {
    const Place& own = chain.front();
    if (own.file != out.file || own.line == 0) continue;
    if (out.first_line == 0 || own.line < out.first_line) out.first_line = own.line;
    out.last_line = std::max(out.last_line, own.line);
  }
}

void read_sources(const Request& request, const std::vector<PlaceChain>& chains, Annotated& out) {
  for (const PlaceChain& chain : chains) {
    for (const Place& place : chain) {
      if (place.file.empty() || out.sources.count(place.file) != 0) continue;
      const auto [it, added] =
          out.sources.try_emplace(place.file, request.code->source(place.file));
      if (!it->second.note().empty()) out.notes.push_back(it->second.note());
    }
  }
}

namespace {

void add_names(const Request& request, Annotated& out) {
  std::vector<std::uint64_t> targets;
  for (const symbolize::Instruction& instruction : out.code) {
    const auto& target = instruction.target;
    if (target && (*target < out.range.begin || *target >= out.range.end)) {
      targets.push_back(*target);
    }
  }
  if (targets.empty()) return;
  const symbolize::ModuleSymbols symbols = request.code->symbols(out.range.module, targets, false);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const symbolize::FunctionSymbol& symbol = symbols.functions[symbols.addresses[i].function];
    if (!symbol.name.empty() && targets[i] == symbol.begin) out.names[targets[i]] = symbol.name;
  }
}

std::string module_of_range(const Request& request, const Annotated& one) {
  const Module& module = request.profile().modules()[one.range.module.index()];
  return std::string(base_name(request.profile().text(module.path)));
}

// The same charges, at the starts of their instructions: a call is charged at its last byte, a
// sample at the first.
std::vector<analysis::Charge> at_starts(std::vector<analysis::Charge> charges,
                                        const std::vector<symbolize::Instruction>& code) {
  for (analysis::Charge& charge : charges) {
    const auto after =
        std::upper_bound(code.begin(), code.end(), charge.address,
                         [](std::uint64_t address, const symbolize::Instruction& at) {
                           return address < at.address;
                         });
    if (after == code.begin()) continue;
    const symbolize::Instruction& at = *std::prev(after);
    if (charge.address < at.address + at.bytes.size()) charge.address = at.address;
  }
  return charges;
}

// Code, lines and texts of a function whose costs are known.
void add_details(const Request& request, Annotated& out) {
  auto code = request.code->instructions(out.range.module, out.range.begin, out.range.end);
  if (code) {
    out.code = std::move(*code);
    // A path counts once for an instruction.
    out.costs.instructions = analysis::by_address(at_starts(out.costs.charges, out.code));
  } else {
    out.notes.push_back(code.error().line());
  }

  std::vector<std::uint64_t> addresses;
  for (const symbolize::Instruction& instruction : out.code) {
    addresses.push_back(instruction.address);
  }
  for (const analysis::Charge& at : out.costs.charges) addresses.push_back(at.address);
  if (addresses.empty()) return;
  const symbolize::ModuleSymbols symbols = request.code->symbols(out.range.module, addresses, true);
  std::vector<PlaceChain> chains;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    chains.push_back(chain_of(symbols, i, out.name));
  }
  find_extent(out, chains);
  const symbolize::FunctionSymbol& symbol = symbols.functions[symbols.addresses[0].function];
  if (symbol.file == out.file && symbol.line != 0 && symbol.line < out.first_line) {
    out.first_line = symbol.line;
  }
  out.chains.assign(chains.begin(), chains.begin() + static_cast<std::ptrdiff_t>(out.code.size()));
  const std::vector<PlaceChain> costly(
      chains.begin() + static_cast<std::ptrdiff_t>(out.code.size()), chains.end());
  out.lines = analysis::line_rows(out.costs.charges, costly);

  if (out.file.empty()) {
    out.notes.push_back(fmt::format("{}: no debug info: no source lines (build with -g)",
                                    module_of_range(request, out)));
  }
  read_sources(request, chains, out);
  add_names(request, out);
}

// Samples in code without names are assigned to functions, which the unwind tables delimit.
void join_nameless(const Request& request, analysis::Annotation& costs) {
  using Outside = analysis::Annotation::Outside;
  const Functions& functions = request.profile().functions();
  std::map<ModuleId, std::vector<Outside>> nameless;
  for (const Outside& other : costs.outside) {
    const std::size_t f = other.leaf.index();
    if (!functions.name[f] && functions.module[f]) nameless[functions.module[f]].push_back(other);
  }
  if (nameless.empty()) return;
  std::erase_if(costs.outside, [&](const Outside& other) {
    return !functions.name[other.leaf.index()] && functions.module[other.leaf.index()];
  });
  for (const auto& [module, samples] : nameless) {
    std::vector<std::uint64_t> addresses;
    for (const Outside& one : samples) addresses.push_back(functions.address[one.leaf.index()]);
    const symbolize::ModuleSymbols symbols = request.code->symbols(module, addresses, false);
    std::map<std::uint64_t, Outside> joined;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const std::uint64_t begin = symbols.functions[symbols.addresses[i].function].begin;
      joined.try_emplace(begin, Outside{samples[i].leaf, 0, begin}).first->second.cost +=
          samples[i].cost;
    }
    for (const auto& [begin, one] : joined) costs.outside.push_back(one);
  }
  std::stable_sort(costs.outside.begin(), costs.outside.end(),
                   [](const Outside& a, const Outside& b) { return a.cost > b.cost; });
}

}  // namespace

Result<AnnotatedFunctions> annotated_functions(const Request& request, std::size_t most) {
  const std::string& pattern = request.value;
  const Profile& profile = request.profile();
  const bool leaves = analysis::has_sampled_addresses(profile);
  std::vector<analysis::Charge> charges;
  if (leaves) charges = analysis::charges(request.costs);
  AnnotatedFunctions result;
  // A pattern that matches many functions selects those with code of their own, if there are any.
  const auto matches = named_functions(request, pattern);
  if (leaves && (!matches || transform::is_exact(pattern))) {
    result.functions = inlined_functions(request, charges);
  }
  if (!matches && result.functions.empty()) return matches.error();
  const auto failed = [&](const std::string& what, const std::string& remedy) {
    return Error{"", std::nullopt, fmt::format("\"{}\" {}", escape(pattern), what), remedy};
  };
  if (matches) {
    const Targets targets(request, *matches);
    if (targets.ranges().empty() && result.functions.empty()) {
      return failed("names nothing with code of its own",
                    "blocks and functions of unknown size have no lines and instructions");
    }
    if (!leaves) {
      return failed("cannot be annotated: no sampled addresses were recorded",
                    "record with fble-prof --leaves (FBLEPROF_LEAVES=1)");
    }
    std::vector<CodeRange> ranges;
    for (const auto& [range, function] : targets.ranges()) ranges.push_back(range);
    const analysis::Annotator annotator(request.costs, charges, ranges);
    for (const auto& [range, function] : targets.ranges()) {
      Annotated& next = result.functions.emplace_back();
      next.name = targets.name_of(profile, range);
      next.range = range;
      next.costs = annotator.annotate(range, targets.functions_of(range));
    }
  }
  const auto weight = [](const Annotated& one) { return one.costs.in_code + one.costs.self(); };
  std::stable_sort(result.functions.begin(), result.functions.end(),
                   [&](const Annotated& a, const Annotated& b) { return weight(a) > weight(b); });
  // A function without a cost is shown only if there is no other.
  while (result.functions.size() > 1 && result.functions.back().costs.total == 0) {
    result.functions.pop_back();
  }
  if (result.functions.size() > most) {
    result.left_out = result.functions.size() - most;
    result.functions.resize(most);
  }
  for (Annotated& one : result.functions) {
    if (!one.inlined_into.empty()) continue;
    join_nameless(request, one.costs);
    add_details(request, one);
  }
  return result;
}

}  // namespace fbleprof::report
