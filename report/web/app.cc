#include "report/web/app.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "report/exporters/exporter.h"
#include "report/text/escape.h"
#include "report/text/json_writer.h"
#include "report/web/assets.h"
#include "report/web/bodies.h"
#include "report/web/html.h"
#include "report/web/load_request.h"
#include "report/web/pages.h"

namespace fbleprof::web {

using report::escape;

namespace {

constexpr char kJson[] = "application/json";
constexpr char kText[] = "text/plain; charset=utf-8";

HttpResponse plain(unsigned status, std::string text) {
  return {status, kText, std::move(text) + "\n", {}};
}

HttpResponse redirect(const std::string& to) {
  HttpResponse response{303, kText, "", {}};
  response.headers.emplace_back("Location", to);
  return response;
}

HttpResponse asset(std::string_view name) {
  const Asset* found = find_asset(name);
  if (found == nullptr) return plain(404, "there is no such file");
  const char* type = name.ends_with(".js")    ? "text/javascript; charset=utf-8"
                     : name.ends_with(".css") ? "text/css; charset=utf-8"
                                              : "image/svg+xml";
  return {200, type, std::string(found->text), {}};
}

// "a/b/c": "a", "b/c".
std::pair<std::string, std::string> cut_at_slash(const std::string& path) {
  const std::size_t slash = path.find('/');
  if (slash == std::string::npos) return {path, ""};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

// The page that holds the button that posted `query`: PAGE or PAGE/VALUE.
Query page_of_button(const Query& query, const std::string& path) {
  const auto [page, value] = cut_at_slash(path);
  return query.to_button(page.empty() ? "overview" : page, value);
}

// POST /mark redirects to the page for comparing with the mark; POST /mark/PAGE[/VALUE] to the page
// itself, which from then on shows what was added since.
Query after_mark(const Query& query, const std::string& mark) {
  if (query.value.empty()) return Query().to_page("diff");
  Query to = page_of_button(query, query.value);
  to.from = mark;
  to.to.clear();
  return to;
}

std::string error_json(const Error& error) {
  report::JsonWriter json;
  json.StartObject();
  json.member("schema", "fbleprof/1");
  json.member("error", escape(error.line()));
  json.EndObject();
  return json.take() + "\n";
}

}  // namespace

App::App(Access access, Site site, Load load, std::vector<std::string> bases,
         std::function<Result<Base>()> save_mark, std::unique_ptr<Control> control)
    : access_(std::move(access)),
      site_(std::move(site)),
      profiles_(std::move(load)),
      bases_(site_.files, std::move(bases)),
      save_mark_(std::move(save_mark)),
      control_(std::move(control)) {}

Site App::site() const {
  const std::lock_guard lock(site_mutex_);
  Site site = site_;
  site.actions = control_->actions();
  return site;
}

Site App::site_for(const Query& query) {
  Site site = this->site();
  if (query.page != "diff" && query.base.empty()) return site;
  for (Base& base : bases_.list()) site.bases.push_back(std::move(base));
  return site;
}

void App::make_ahead() {
  // A growing profile is read again by that time.
  const auto make_page = [&](std::string_view name, std::string_view value) {
    Query query;
    query.page = name;
    query.value = value;
    if (!site().is_live && !is_over_) page(query);
  };
  for (const PageKind& kind : page_kinds()) {
    if (kind.in_menu) make_page(kind.name, "");
  }
  // Also the sources that are read differently: by call site, with lines, by thread.
  make_page("call-sites", "");
  make_page("by", "file");
  make_page("by", "thread");
  make_page("verify", "");
  make_page("cliques", "context");
}

Status App::open() {
  Files now = files();
  auto source = profiles_.source({});
  if (!source) return source.error();
  {
    const std::lock_guard lock(site_mutex_);
    site_.is_live = profiles_.is_live();
    read_ = std::move(now);
    refreshed_ = std::chrono::steady_clock::now();
  }
  return std::nullopt;
}

void App::refresh() {
  const std::unique_lock lock(refreshing_, std::try_to_lock);
  if (!lock) return;
  const auto begin = std::chrono::steady_clock::now();
  Files now = files();
  profiles_.refresh(is_replaced(now));
  const auto end = std::chrono::steady_clock::now();
  const bool is_live = profiles_.is_live();
  const std::lock_guard site_lock(site_mutex_);
  site_.is_live = is_live;
  refreshed_ = end;
  // A large file is read less often: reading takes at most a tenth of the time.
  patience_ = std::max<std::chrono::steady_clock::duration>(std::chrono::milliseconds(900),
                                                            9 * (end - begin));
  read_ = std::move(now);
}

App::Files App::files() const {
  Files all;
  for (const std::string& file : site_.files) {
    all.state += file_state(file) + "\n";
    all.identity += file_identity(file) + "\n";
  }
  return all;
}

// A file of a live program is written all the time, so its state says nothing.
bool App::is_replaced(const Files& now) const {
  const std::lock_guard lock(site_mutex_);
  return site_.is_live ? now.identity != read_.identity : now.state != read_.state;
}

// A file of a live program is written all the time; any other, if its program runs again.
bool App::is_old() const {
  const Files now = files();
  const std::lock_guard lock(site_mutex_);
  const auto age = std::chrono::steady_clock::now() - refreshed_;
  return site_.is_live ? age >= patience_ : now.state != read_.state;
}

void App::refresh_if_old() {
  if (is_old()) refresh();
}

std::string App::event() {
  return fmt::format("event: changed\ndata: {}\n\n", site().state(profiles_.generation()));
}

HttpResponse App::answer(const HttpRequest& request) {
  const auto target = parse_target(request.target);
  if (!target) return plain(400, "this is no address of a page");
  const std::string_view token = target->get("token");
  if (auto refused = access_.refusal(request, token)) return std::move(*refused);
  auto query = parse_query(*target);
  if (!query) return plain(400, escape(query.error().line()));
  if (!token.empty() && !query->json) {
    // The browser has the token now, so the address need not show it.
    HttpResponse response = redirect(url_of(*query));
    response.headers.emplace_back("Set-Cookie", fmt::format("{}={}; HttpOnly; SameSite=Lax; Path=/",
                                                            access_.cookie_name(), access_.token));
    return response;
  }
  if (request.accept.starts_with(kJson)) query->json = true;
  if (request.method == "POST") return post(*query);
  if (query->page == "assets") return asset(query->value);
  if (query->page == "events") {
    HttpResponse response{200, "text/event-stream", event(), {}};
    response.is_event_stream = true;
    return response;
  }
  refresh_if_old();
  if (query->page == "export") return exported(*query);
  return page(*query);
}

HttpResponse App::page(const Query& asked) {
  Query query = asked;
  // The page is the same, whatever its script shows of it.
  query.zoom.clear();
  query.highlight.clear();
  const Site site = site_for(query);
  // Its buttons say what the program can be told.
  std::string key =
      fmt::format("{} {} {}", profiles_.generation(), fmt::join(site.actions, ","), url_of(query));
  for (const Base& base : site.bases) key += fmt::format("\n{} {}", base.name, base.state);
  const auto made = made_.get(key, [&] { return make(query, site); });
  // A failed result is not kept: the next try may succeed.
  if (made->status != 200) made_.forget(key);
  return {made->status, made->type, made->text, {}};
}

std::shared_ptr<const App::Made> App::make(const Query& query, const Site& site) {
  const auto failed = [&](const Error& error, unsigned status) {
    const HttpResponse response = failure(query, error, status, site);
    return std::make_shared<const Made>(Made{response.status, response.type, response.body});
  };
  auto request = load_request(query, site);
  if (!request) return failed(request.error(), 404);
  if (request->needs.leaves && !profiles_.has_addresses()) request->needs = {};
  if (find_page(query.page) == nullptr && view_of(query).first == nullptr) {
    return failed({"", std::nullopt, fmt::format("there is no page /{}", query.page), ""}, 404);
  }
  const auto data = profiles_.data(query, *request);
  if (!data) return failed(data.error(), 400);
  const Page page{query, **data, site};
  if (query.json) {
    auto text = page_json(page);
    if (!text) return failed(text.error(), 404);
    return std::make_shared<const Made>(Made{200, kJson, std::move(*text)});
  }
  auto body = page_body(page);
  if (!body) return failed(body.error(), 404);
  return std::make_shared<const Made>(
      Made{200, "text/html; charset=utf-8", whole_page(page, *body)});
}

// The page without the lists, so that the user can remove the wrong entry.
HttpResponse App::failure(const Query& query, const Error& error, unsigned status,
                          const Site& site) {
  if (query.json) return {status, kJson, error_json(error), {}};
  Query without = query;
  without.lists.clear();
  without.base.clear();
  without.thread.clear();
  without.metric.clear();
  without.from.clear();
  without.to.clear();
  const auto data = profiles_.data(without, {});
  if (!data) return plain(500, escape(data.error().line()));
  return {status,
          "text/html; charset=utf-8",
          whole_page(Page{query, **data, site}, failure_html(error)),
          {}};
}

HttpResponse App::exported(const Query& query) {
  const auto exporter = report::find_exporter(query.value);
  if (!exporter) return plain(404, escape(exporter.error().line()));
  Query alone = query;
  alone.base.clear();
  auto request = load_request(alone, site());
  if (!request) return plain(404, escape(request.error().line()));
  request->needs.lines |= (*exporter)->wants_lines;
  const auto data = profiles_.data(alone, *request);
  if (!data) return plain(400, escape(data.error().line()));
  constexpr double kLeastPercent = 0.5;
  const double least = query.min_percent >= 0 ? query.min_percent : kLeastPercent;
  auto text = (*exporter)->write(
      {(*data)->profile(), (*data)->metric(), (*data)->total(), (*data)->kept_is_bound(), least,
       query.all, &(*data)->source().loaded.runs, (*data)->source().loaded.has_sampled_times});
  if (!text) return plain(400, escape(text.error().line()));
  HttpResponse response{200, "application/octet-stream", std::move(*text), {}};
  response.headers.emplace_back(
      "Content-Disposition", fmt::format("attachment; filename=\"profile.{}\"", (*exporter)->name));
  return response;
}

HttpResponse App::post(const Query& query) {
  if (query.page == "mark" && save_mark_) {
    auto mark = save_mark_();
    if (!mark) return plain(500, escape(mark.error().line()));
    const std::string to = url_of(after_mark(query, mark->name));
    const std::lock_guard lock(site_mutex_);
    site_.bases.insert(site_.bases.begin(), std::move(*mark));
    return redirect(to);
  }
  if (query.page == "control") {
    const auto [action, from] = cut_at_slash(query.value);
    const Query back = page_of_button(query, from);
    if (const Status bad = control_->run(action)) return failure(back, *bad, 409, site_for(back));
    return redirect(url_of(back));
  }
  return plain(405, "nothing is posted here");
}

}  // namespace fbleprof::web
