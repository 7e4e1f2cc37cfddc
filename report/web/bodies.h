// The bodies of pages written for a browser: one file each, *_page.cc.
#pragma once

#include <optional>
#include <string>

#include "analysis/diff.h"
#include "report/web/site.h"

namespace fbleprof::web {

std::string overview_body(const Page& page);
std::string flame_body(const Page& page);
std::string tree_body(const Page& page);
std::string block_body(const Page& page);
std::string path_body(const Page& page);
std::string edges_body(const Page& page);
std::string cliques_body(const Page& page);
std::string source_body(const Page& page);
std::string threads_body(const Page& page);
std::string waits_body(const Page& page);
std::string memory_body(const Page& page);
std::string windows_body(const Page& page);
std::string diff_body(const Page& page);
std::string exports_body(const Page& page);
std::string find_body(const Page& page);

// Metrics of waits and of memory.
bool has_waits(const Page& page);
bool has_memory(const Page& page);

// Why the page's metric has no flame graph; "" if it has one.
std::string why_no_flame(const Page& page);
// The data of a flame graph (docs/PAGE.md).
std::string flame_json(const Page& page);
// The same with more contexts, for the lists in a file.
std::string contexts_json(const Page& page);
// A canvas and its data. `compared`: see comparison.h.
std::string flame_canvas(const Page& page, bool is_small,
                         const std::optional<analysis::Diff>& compared);
std::string find_json(const Page& page);

// A line that says why the page is empty.
std::string failure_html(const Error& error);

}  // namespace fbleprof::web
