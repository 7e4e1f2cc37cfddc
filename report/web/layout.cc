// The frame of every page: title, menu, metric, lists, command line.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/costs.h"
#include "report/text/escape.h"
#include "report/text/quantity.h"
#include "report/views/phrases.h"
#include "report/views/run_words.h"
#include "report/web/command_line.h"
#include "report/web/html.h"
#include "report/web/load_request.h"
#include "report/web/pages.h"

namespace fbleprof::web {

using namespace profile;

namespace {

std::string program_text(const Page& page) {
  const Profile& runs = page.data.source().loaded.runs;
  if (runs.processes().size() == 1) {
    return report::command_text(runs, runs.processes()[0]);
  }
  return fmt::format("{} profiles", runs.processes().size());
}

// Without the program's directories: the header has little room.
std::string without_directories(std::string_view program) {
  const std::size_t slash = program.substr(0, program.find(' ')).rfind('/');
  return std::string(slash == std::string::npos ? program : program.substr(slash + 1));
}

std::string path_of(const Query& query) {
  Query bare;
  bare.page = query.page;
  bare.value = query.value;
  return url_of(bare);
}

std::string menu(const Page& page) {
  std::string out = "<nav class=menu aria-label=\"pages\">";
  const auto link = [&](std::string_view name, std::string_view title, std::string_view key,
                        bool is_here) {
    out += fmt::format("<a href=\"{}\"{}{}>{}</a>", page.href(std::string(name)),
                       is_here ? " aria-current=page" : "",
                       key.empty() ? "" : fmt::format(" data-key={}", key), title);
  };
  for (const PageKind& kind : page_kinds()) {
    if (!is_in_menu(kind, page)) continue;
    link(kind.name, kind.title, kind.key, kind.name == page.query.page);
  }
  if (page.site.is_file) return out + "</nav>";
  // Every other view of the registry.
  out += "<details class=others><summary>More</summary><div>";
  for (const report::View& view : report::views()) {
    const bool has_page = std::any_of(page_kinds().begin(), page_kinds().end(), [&](const auto& k) {
      return k.name == view.name || (k.view == view.name && k.name != "modules");
    });
    if (has_page || view.print != nullptr) continue;
    if (view.name == "by") {
      for (const char* what : {"file", "namespace", "class", "thread", "process", "host"}) {
        out += fmt::format("<a href=\"{}\">by {}</a>", page.href("by", what), what);
      }
      continue;
    }
    if (!view.value.empty() && view.implied.empty()) continue;  // of a function: its page has it
    out += fmt::format("<a href=\"{}\" title=\"{}\">{}</a>", page.href(std::string(view.name)),
                       html_text(view.help), view.name);
  }
  return out + "</div></details></nav>";
}

std::string metric_form(const Page& page) {
  const Profile& profile = page.data.source().loaded.profile;
  std::string options;
  std::size_t count = 0;
  for (const Metric& metric : profile.metrics()) {
    if (metric.is_baseline) continue;
    const std::uint64_t total = page.data.source().total_of(metric);
    const bool is_here = metric.name == page.data.metric().name;
    const auto address = page.site.address_of_metric(metric.name);
    if ((total == 0 && !is_here) || !address) continue;
    ++count;
    options +=
        fmt::format("<option value=\"{}\"{}>{} {}</option>", html_text(report::escape(*address)),
                    is_here ? " selected" : "", html_text(report::escape(metric.name)),
                    report::quantity(total, metric.unit));
  }
  if (count < 2) return {};
  return fmt::format(
      "<form class=metric method=get action=\"{}\">{}<select name=metric aria-label=\"metric\">{}"
      "</select><noscript><button>show</button></noscript></form>",
      html_text(path_of(page.query)), hidden_inputs(page.query, "metric"), options);
}

std::string chip(const Page& page, std::size_t index, const FunctionId function) {
  const Listed& entry = page.query.lists[index];
  constexpr std::string_view kSigns[] = {"+", "−", "~", "?"};
  constexpr std::string_view kWords[] = {"only through", "without", "folded", "kept:"};
  const int list = static_cast<int>(entry.list);
  std::string label = report::escape(entry.pattern), whole = label;
  if (function) {
    const report::Names names(page.data.source().loaded.profile);
    label = names.fit(function, 44);
    whole = names.whole(function);
  }
  std::string out =
      fmt::format("<li class=\"chip {}\" title=\"{}\"><span>{} {}</span>", parameter_of(entry.list),
                  html_text(whole), kWords[list], html_text(report::cut(label, 60)));
  if (entry.list != Listed::List::kKeep) {
    for (const auto other : {Listed::List::kSelect, Listed::List::kExclude, Listed::List::kFold}) {
      if (other == entry.list) continue;
      Query moved = page.query;
      moved.lists[index].list = other;
      out += fmt::format("<a href=\"{}\" title=\"{} instead\" aria-label=\"{} instead\">{}</a>",
                         page.href(moved), kWords[static_cast<int>(other)],
                         kWords[static_cast<int>(other)], kSigns[static_cast<int>(other)]);
    }
  }
  return out + fmt::format(
                   "<a class=remove href=\"{}\" title=\"take it off the list\" "
                   "aria-label=\"take it off the list\">×</a></li>",
                   page.href(page.query.without(index)));
}

// A chip that is not an entry of a list.
std::string removable(const Page& page, std::string_view kind, const std::string& text,
                      const Query& without, std::string_view what) {
  return fmt::format(
      "<span class=\"chip {}\"><span>{}</span><a class=remove href=\"{}\" title=\"{}\" "
      "aria-label=\"{}\">×</a></span>",
      kind, html_text(text), page.href(without), what, what);
}

std::string lists(const Page& page) {
  // In a file the page's own script maintains the lists.
  if (page.site.is_file) {
    return "<form id=lists></form><section class=lists aria-label=\"lists\"></section>";
  }
  const Query& query = page.query;
  std::string out = fmt::format("<form id=lists method=get action=\"{}\">{}</form>",
                                html_text(path_of(query)), hidden_inputs(query, ""));
  out += "<section class=lists aria-label=\"lists\">";
  if (!query.lists.empty()) {
    out += "<ul>";
    for (std::size_t i = 0; i < query.lists.size(); ++i) {
      out += chip(page, i, page.data.source().function(query.lists[i].pattern));
    }
    Query none = query;
    none.lists.clear();
    out += fmt::format(
        "</ul><a class=undo data-key=u href=\"{}\">undo</a><a class=clear href=\"{}\">clear</a>",
        page.href(query.without(query.lists.size() - 1)), page.href(none));
    out += fmt::format("<span class=kept>kept {}{} of {} ({})</span>",
                       page.data.kept_is_bound() ? "about " : "",
                       page.amount(page.data.costs().total()), page.amount(page.data.total()),
                       report::percent(page.data.costs().total(), page.data.total()));
  } else {
    out += fmt::format("<span class=kept>{} {} in all</span>",
                       html_text(report::escape(page.data.metric().name)),
                       page.amount(page.data.total()));
  }
  if (!query.thread.empty()) {
    Query all = query;
    all.thread.clear();
    out += fmt::format("<a class=\"chip sel\" href=\"{}\">{} ×</a>", page.href(all),
                       html_text(report::escape(query.thread)));
  }
  if (const std::string window = window_text(query, page.site); !window.empty()) {
    Query all = query;
    all.from.clear();
    all.to.clear();
    out += removable(page, "window", "only " + window, all, "show the whole run");
  }
  if (!query.base.empty()) {
    Query none = query;
    none.base.clear();
    out += removable(page, "base", "compared with " + base_text(query, page.site), none,
                     "stop comparing");
  }
  return out + "</section>";
}

// The address to which a button posts: it names the page, to which the answer leads back.
std::string post_address(const Page& page, std::string to, const std::string& action) {
  std::string from = page.query.page;
  if (!page.query.value.empty()) from += "/" + page.query.value;
  return page.href(
      page.query.to_button(std::move(to), action.empty() ? from : action + "/" + from));
}

// From then on the page shows only what is added.
std::string since_now(const Page& page) {
  return fmt::format(
      "<form class=once method=post action=\"{}\"><button class=quiet title=\"show only what is "
      "added from now on\">since now</button></form>",
      post_address(page, "mark", ""));
}

// Commands for the program; none if it does not listen.
std::string control_buttons(const Page& page) {
  constexpr std::pair<std::string_view, std::string_view> kTitles[] = {
      {"stop", "record nothing more; the program goes on"},
      {"start", "record again"},
      {"snapshot", "note the amounts of this moment: Windows shows what was added between two"},
      {"reset", "begin again at 0: what was recorded until now is no longer shown"}};
  std::string out;
  for (const std::string& action : page.site.actions) {
    const auto* told = std::find_if(std::begin(kTitles), std::end(kTitles),
                                    [&](const auto& one) { return one.first == action; });
    out += fmt::format(
        "<form class=once method=post action=\"{}\"><button class=quiet title=\"{}\">{}</button>"
        "</form>",
        post_address(page, "control", action), told == std::end(kTitles) ? "" : told->second,
        html_text(report::escape(action)));
  }
  return out;
}

std::string live_badge(const Page& page) {
  const Profile& runs = page.data.source().loaded.runs;
  if (page.site.is_live) {
    return fmt::format(
        "<span class=\"badge live\" id=live data-state=\"{}\"><i></i><span>live</span></span>"
        "<button id=pause class=quiet hidden>pause</button><span class=controls>{}{}</span>",
        html_text(page.site.state(page.data.source().generation)), since_now(page),
        control_buttons(page));
  }
  if (runs.processes().size() != 1 || runs.processes()[0].is_imported) return {};
  return fmt::format("<span class=badge id=live>{}</span>",
                     html_text(report::end_text(runs.processes()[0])));
}

std::string waits_note(const Page& page) {
  const report::Loaded& loaded = page.data.source().loaded;
  const Metric* metric = loaded.profile.find_metric(page.data.metric().name);
  const std::string note =
      metric == nullptr ? std::string() : report::place_of_waits(loaded.profile, *metric);
  return note.empty() ? note : fmt::format("<p class=note>{}</p>", html_text(note));
}

}  // namespace

std::string hidden_inputs(const Query& query, std::string_view without) {
  std::string out;
  const auto add = [&](const Parameters& parameters) {
    for (const auto& [name, value] : parameters) {
      if (name == without) continue;
      out += fmt::format("<input type=hidden name={} value=\"{}\">", name, html_text(value));
    }
  };
  add(state_parameters(query));
  if (without != "page") add(look_parameters(query));
  return out;
}

std::string whole_page(const Page& page, const std::string& body) {
  const std::string title = page_title(page), command = program_text(page),
                    program = without_directories(command);
  std::string out =
      "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport "
      "content=\"width=device-width, initial-scale=1\"><meta name=color-scheme content=\"light "
      "dark\">";
  out +=
      fmt::format("<title>{} · {}</title>", html_text(title), html_text(report::cut(program, 60)));
  out +=
      "<link rel=stylesheet href=\"/assets/page.css\"><link rel=icon href=\"/assets/icon.svg\">"
      "<script type=module src=\"/assets/main.js\"></script></head>";
  out += fmt::format("<body data-page=\"{}\"><a class=skip href=\"#main\">to the content</a>",
                     html_text(page.query.page));
  out += fmt::format(
      "<header><a class=brand href=\"{}\" aria-label=\"fbleprof: overview\"><svg viewBox=\"0 0 16 "
      "16\" aria-hidden=true><path d=\"M1 12h14v3H1zM3 7h10v4H3zM5 2h4v4H5z\"/></svg></a>"
      "<p class=program title=\"{}\">{}</p>{}",
      page.href("overview"), html_text(command), html_text(report::cut(program, 90)),
      live_badge(page));
  out += fmt::format(
      "<form class=find role=search method=get action=\"/find\">{}<input name=q type=search "
      "placeholder=\"find a function\" aria-label=\"find a function\" value=\"{}\" "
      "autocomplete=off></form>",
      hidden_inputs(page.query, "page"),
      page.query.page == "find" ? html_text(report::escape(page.query.value)) : "");
  out += metric_form(page);
  out +=
      "<button id=theme class=quiet hidden aria-label=\"dark or light\">◐</button>"
      "<button id=help class=quiet hidden aria-label=\"keys\">?</button></header>";
  out += menu(page) + "<div class=state>" + lists(page);
  if (!page.site.is_file) {
    out += fmt::format(
        "<section class=command aria-label=\"the same in a terminal\"><code "
        "id=command>{}</code><button "
        "id=copy class=quiet hidden>copy</button></section>",
        html_text(command_line(page)));
  }
  out += "</div><main id=main tabindex=-1>";
  // Pages of one function have its name as heading.
  if (body.find("<h1") == std::string::npos) {
    out += fmt::format("<h1{}>{}</h1>", page.query.page == "overview" ? " class=hidden" : "",
                       html_text(title));
  }
  out += body + waits_note(page) + "</main>";
  out += fmt::format(
      "<footer>fbleprof {} · metric {} in {} · <a href=\"{}\">JSON</a></footer></body></html>\n",
      page.site.version, html_text(report::escape(page.data.metric().name)),
      html_text(report::escape(page.data.metric().unit)), [&] {
        Query json = page.query;
        json.json = true;
        return page.href(json);
      }());
  return out;
}

}  // namespace fbleprof::web
