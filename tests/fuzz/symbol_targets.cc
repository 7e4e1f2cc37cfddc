// Fuzz targets of what reads the files of modules and names of generated code, and of what reads
// the requests of browsers.
#include <string>
#include <vector>

#include "report/web/access.h"
#include "report/web/query.h"
#include "report/web/url.h"
#include "symbolize/disassembly.h"
#include "symbolize/generated_code.h"
#include "symbolize/hooked_functions.h"
#include "symbolize/symbolizer.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/input.h"

namespace fbleprof::fuzz {

void elf(std::span<const std::uint8_t> bytes) {
  const MemoryFile file(bytes);
  const symbolize::ModuleFile module{.path = file.path()};
  symbolize::Options options;
  options.lines = options.inlines = true;
  options.debug_roots.clear();
  std::vector<std::uint64_t> addresses;
  for (std::uint64_t address = 0; address < 0x5000; address += 0x38) addresses.push_back(address);
  addresses.push_back(~std::uint64_t{0});
  const auto symbols = symbolize::symbolize_module(module, addresses, options);
  demand(symbols.addresses.size() == addresses.size());
  for (const auto& symbol : symbols.addresses) demand(symbol.function < symbols.functions.size());
  symbolize::hooked_functions(module, options);
  (void)symbolize::disassemble(module, 0x1000, 0x1100, options);
}

void generated_code(std::span<const std::uint8_t> bytes) {
  symbolize::GeneratedCode code;
  if (!symbolize::read_jitdump(std::as_bytes(bytes), &code)) {
    symbolize::read_perf_map(text_of(bytes), &code);
  }
  for (std::uint64_t address = 0x1000; address < 0x3000; address += 8) {
    const auto* found = code.find(address);
    demand(found == nullptr || (found->begin <= address && address - found->begin < found->size));
  }
  symbolize::take_apart(text_of(bytes));
}

void symbol_table(std::span<const std::uint8_t> bytes) {
  const auto table = symbolize::SymbolTable::from_bytes(text_of(bytes));
  if (!table) return;
  for (std::uint64_t address = 0; address < 0x4000; address += 0x40) table->find(address);
  demand(symbolize::SymbolTable::from_bytes(table->to_bytes()).has_value());
}

// A line is a target, a Host header, a cookie and an origin.
void request(std::span<const std::uint8_t> bytes) {
  std::string_view rest = text_of(bytes);
  const auto word = [&rest] {
    const std::size_t end = rest.find('\n');
    const std::string_view taken = rest.substr(0, end);
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
    return std::string(taken);
  };
  const web::Access access{.token = "secret", .host = "127.0.0.1", .port = 8080};
  web::HttpRequest request{.method = "GET",
                           .target = word(),
                           .host = word(),
                           .origin = {},
                           .cookie = word(),
                           .fetch_site = {},
                           .accept = {},
                           .authorization = {}};
  request.origin = word();
  // Nobody guesses the token, unless the input has it.
  demand(access.refusal(request, "").has_value() || text_of(bytes).find("secret") != rest.npos);
  const auto target = web::parse_target(request.target);
  if (!target) return;
  const auto query = web::parse_query(*target);
  if (!query) {
    demand(!query.error().line().empty());
    return;
  }
  // The address of a query leads to the same query.
  const std::string url = web::url_of(*query);
  const auto again = web::parse_target(url);
  demand(again.has_value());
  const auto same = web::parse_query(*again);
  demand(same.ok() && web::url_of(*same) == url);
}

}  // namespace fbleprof::fuzz
