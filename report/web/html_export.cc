// --export html: the pages in one file, without a server or the network.
//
// The names of a profiled program's functions must not run as code in a browser. The pages are the
// server's, which escapes every name; they are in <template>s, where nothing runs; and the policy
// in the head allows only our script and our style, by their hashes.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "report/exporters/exporter.h"
#include "report/text/escape.h"
#include "report/web/assets.h"
#include "report/web/bodies.h"
#include "report/web/html.h"
#include "report/web/pages.h"

namespace fbleprof::web {

using namespace profile;

namespace {

constexpr std::size_t kBlocks = 150;      // pages of single functions: the most expensive
constexpr std::size_t kOtherMetrics = 3;  // in addition to the chosen one
constexpr std::size_t kRows = 200;

unsigned hex_digit(char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); }

// Policies contain hashes in base 64.
std::string base64_of_hex(std::string_view hex) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  std::uint32_t bits = 0, have = 0;
  for (const char c : hex) {
    bits = bits << 4 | hex_digit(c);
    have += 4;
    if (have < 6) continue;
    have -= 6;
    out += kDigits[bits >> have & 63];
  }
  if (have != 0) out += kDigits[bits << (6 - have) & 63];
  while (out.size() % 4 != 0) out += '=';
  return out;
}

// The part of a server's page between two marks.
std::string between(const std::string& page, std::string_view begin, std::string_view end) {
  const std::size_t at = page.find(begin);
  const std::size_t close = page.find(end, at == std::string::npos ? 0 : at);
  if (at == std::string::npos || close == std::string::npos) return {};
  return page.substr(at + begin.size(), close - at - begin.size());
}

std::shared_ptr<const Source> source_of(const report::Export& input) {
  report::Loaded loaded;
  loaded.profile = input.profile;
  loaded.runs = input.runs != nullptr ? *input.runs : input.profile;
  loaded.metric = input.metric.name;
  loaded.remarks = input.profile.warnings();
  loaded.has_sampled_times = input.has_sampled_times;
  return make_source(std::move(loaded), 0);
}

// The metrics that have pages in the file, the chosen one first.
std::vector<std::string> metrics_of(const report::Export& input) {
  std::vector<std::string> names{input.metric.name};
  for (const Metric& metric : input.profile.metrics()) {
    if (names.size() > kOtherMetrics) break;
    if (&metric == &input.metric || metric.is_baseline || metric.role == Role::kSamples ||
        metric.role == Role::kOwnCost || analysis::total(input.profile, metric) == 0) {
      continue;
    }
    names.push_back(metric.name);
  }
  return names;
}

// The functions most expensive by either figure.
std::vector<FunctionId> main_functions(const Data& data) {
  std::vector<analysis::FunctionRow> rows = data.costs().tables().functions();
  std::vector<FunctionId> chosen;
  for (const bool by_self : {true, false}) {
    std::stable_sort(rows.begin(), rows.end(), [&](const auto& a, const auto& b) {
      return by_self ? a.self > b.self : a.dominated > b.dominated;
    });
    for (std::size_t i = 0; i < rows.size() && i < kBlocks / 2; ++i) {
      chosen.push_back(rows[i].function);
    }
  }
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

// In the form of a page's links.
std::string address(const Query& query) {
  const auto target = parse_target(url_of(query));
  std::string text = target->path;
  for (std::size_t i = 0; i < target->parameters.size(); ++i) {
    text += fmt::format("{}{}={}", i == 0 ? "?" : "&", target->parameters[i].first,
                        target->parameters[i].second);
  }
  return text;
}

Result<std::string> write_html(const report::Export& input) {
  const std::shared_ptr<const Source> source = source_of(input);
  Site site;
  site.version = FBLEPROF_VERSION;
  site.is_file = true;
  std::string pages, first;
  site.metrics = metrics_of(input);
  for (const std::string& metric : site.metrics) {
    const bool is_chosen = metric == input.metric.name;
    const Data data(source, {input.profile, input.kept_is_bound, {}}, metric);
    Query query;
    query.rows = kRows;
    if (!is_chosen) query.metric = metric;
    std::vector<Query> all;
    const auto add = [&](std::string page, std::string value = {}) {
      Query one = query.to_page(std::move(page), std::move(value));
      one.rows = 0;
      all.push_back(std::move(one));
    };
    for (const PageKind& kind : page_kinds()) {
      const Page probe{query, data, site};
      if (is_in_menu(kind, probe)) add(std::string(kind.name));
    }
    for (const FunctionId f : main_functions(data)) {
      if (input.profile.functions().kind[f.index()] != FunctionKind::kRoot) {
        add("block", source->id(f));
      }
    }
    Query tree;
    tree.page = "flame";
    if (!is_chosen) tree.metric = metric;
    // The lists add up what contexts cost.
    if (const Page contexts{tree, data, site}; why_no_flame(contexts).empty()) {
      pages += fmt::format(
          "<script type=\"application/json\" class=contexts data-metric=\"{}\">{}</script>\n",
          html_text(tree.metric), json_for_script(contexts_json(contexts)));
    }
    for (const Query& one : all) {
      const Page page{one, data, site};
      const auto body = page_body(page);
      if (!body) continue;
      std::string whole = whole_page(page, *body);
      if (first.empty()) first = whole;
      pages += fmt::format("<template data-page=\"{}\">{}</template>\n", html_text(address(one)),
                           between(whole, "<main id=main tabindex=-1>", "</main>"));
    }
  }
  const auto source_hash = [](std::string_view hash) {
    return "'sha256-" + base64_of_hex(hash) + "'";
  };
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>\n<meta "
      "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src {}; "
      "style-src "
      "{}; base-uri 'none'; form-action 'none'\">\n<meta name=viewport "
      "content=\"width=device-width, initial-scale=1\"><meta name=color-scheme content=\"light "
      "dark\"><title>{}</title>\n<style>",
      source_hash(kWholeScriptSha256), source_hash(kStyleSha256),
      between(first, "<title>", "</title>"));
  out += find_asset("page.css")->text;
  out += "</style></head>\n<body>";
  out += between(first, "<a class=skip", "<main");
  out.insert(out.rfind("<body>") + 6, "<a class=skip");
  out += "<main id=main tabindex=-1>" + between(first, "<main id=main tabindex=-1>", "</main>") +
         "</main>\n<div id=pages hidden>\n";
  out += pages;
  out += "</div>\n<script>";
  out += kWholeScript;
  return out + "</script></body></html>\n";
}

const report::RegisterExporter kHtml({
    .name = "html",
    .description = "the pages of --serve in one file; needs no network",
    .wants_lines = true,
    .write = write_html,
});

}  // namespace
}  // namespace fbleprof::web
