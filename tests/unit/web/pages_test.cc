// Pages of a profile with everything in it, and of odd addresses.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>

#include "report/cli/report.h"
#include "report/web/app.h"
#include "report/web/document_html.h"
#include "report/web/pages.h"
#include "report/web/serve.h"
#include "tests/support/file_builder.h"
#include "tests/support/profile_builder.h"
#include "tests/support/text.h"
#include "transform/merge.h"

namespace fbleprof::web {
namespace {

using test::FileBuilder;
using test::holds;

class Silent : public Progress {
  void update(std::string_view, std::uint64_t, std::uint64_t) override {}
};

// A program that can be told something, or not.
struct Program : Control {
  std::vector<std::string> actions() const override { return {"stop", "snapshot"}; }
  Status run(const std::string& action) override {
    if (action == "stop") return std::nullopt;
    return Error{"", std::nullopt, "no such command", "stop"};
  }
};

void fill(FileBuilder& file, std::uint64_t more) {
  using format::FunctionKind;
  file.header().row_bytes = 128;
  const auto module = file.module("/lib/libshop.so", 0x1000, 0x90000, 0, "\x01\xab");
  file.native("nameless", 0x1230, 64, module);
  file.function("script", FunctionKind::kScript, "shop.lua", 7, 0, "Lua");
  file.function("untitled", FunctionKind::kScript, "", 0);
  file.function("generated", FunctionKind::kJit, "", 0);
  file.block("main", "shop.c", 3);
  file.charge("main work", {.cpu_ns = 30000 + more, .wall_ns = 50000, .samples = 30});
  file.calls("main work", 12);
  file.charge("main", {.cpu_ns = 10000, .samples = 10});
  file.charge("main nameless script", {.cpu_ns = 9000, .samples = 9});
  file.charge("main untitled", {.cpu_ns = 100});
  file.charge("main work generated", {.cpu_ns = 8000 - more, .samples = 8});
  file.charge("main work inner", {.cpu_ns = 7000});
  file.calls("main work inner", 700);
  file.back("main work inner", "main work", 5);
  file.back("main work inner", "main", 2);
  file.tail("main work", "main nameless", 3);
  // A circle of many, and many functions of one kind of name.
  std::string path = "main";
  for (int i = 0; i < 30; ++i) {
    const std::string step = "step" + std::to_string(i);
    path += " " + step;
    file.charge(path, {.cpu_ns = 50});
    file.calls(path, 1);
    file.charge("main leaf" + std::to_string(i), {.cpu_ns = 1000});
  }
  file.back(path, "main step0", 4);
  const auto metric = [&](std::string_view name, std::string_view unit, format::Role role,
                          std::uint16_t word, std::uint32_t flags = 0) {
    file.metric(name, unit, role, format::MetricPlace::kValues, word, format::Aggregation::kSum,
                flags);
    file.value("main work", word) = 4096 + more;
    file.value("main nameless", word) = 512;
  };
  metric("wait", "ns", format::Role::kWaitTime, test::kFirstFreeWord);
  metric("waits", "count", format::Role::kWaits, test::kFirstFreeWord + 1);
  metric("allocated", "bytes", format::Role::kAmount, test::kFirstFreeWord + 2,
         format::kMetricEstimated);
  metric("allocations", "count", format::Role::kEvent, test::kFirstFreeWord + 3);
  metric("live", "bytes", format::Role::kLevel, test::kFirstFreeWord + 4);
  metric("freed", "bytes", format::Role::kAmount, test::kFirstFreeWord + 5);
  file.metric("never", "bytes", format::Role::kAmount, format::MetricPlace::kValues,
              test::kFirstFreeWord + 6);
  file.thread("worker", 77);
  file.charge("worker main work", {.cpu_ns = 3000, .samples = 3});
}

class Pages : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "fbleprof-XXXXXX").string();
    directory_ = mkdtemp(name.data());
    FileBuilder one, two;
    fill(one, 0);
    one.snapshot("loaded", 1'000'000'000);
    one.charge("main late", {.cpu_ns = 500});
    one.write(path("one"));
    fill(two, 4000);
    two.header().pid += 1;
    two.write(path("two"));
    app_ = serve(path("one"), {path("two")});
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::string path(const char* name) const { return (directory_ / name).string(); }

  static std::unique_ptr<App> serve(const std::string& file, std::vector<std::string> bases) {
    report::Options what;
    what.view = &report::default_view();
    what.files = {file};
    Site site;
    site.files = {file};
    const auto load = [what](const LoadRequest& request) {
      report::Options one = what;
      one.window = request.window;
      one.base_window = request.base_window;
      one.baselines = request.base;
      Silent silent;
      return report::load(one, request.needs, silent);
    };
    return std::make_unique<App>(Access{"secret", "127.0.0.1", 80}, site, load, std::move(bases),
                                 std::function<Result<Base>()>(), std::make_unique<Program>());
  }

  HttpResponse ask(const std::string& target, const char* method = "GET") {
    HttpRequest request{.method = method,
                        .target = target,
                        .host = "127.0.0.1:80",
                        .origin = {},
                        .cookie = "fbleprof_80=secret",
                        .fetch_site = {},
                        .accept = {},
                        .authorization = {}};
    if (request.method == "POST") request.origin = "http://127.0.0.1:80";
    return app_->answer(request);
  }
  std::string page(const std::string& target, unsigned status = 200) {
    const HttpResponse response = ask(target);
    EXPECT_EQ(response.status, status) << target << response.body;
    return response.body;
  }

  // The contexts that the tree shows.
  std::set<std::string> contexts() {
    const std::string tree = page("/tree?n=1000&min=0");
    const std::regex context("data-context=([0-9a-f]+)");
    std::set<std::string> found;
    for (std::sregex_iterator at(tree.begin(), tree.end(), context), end; at != end; ++at) {
      found.insert((*at)[1]);
    }
    return found;
  }
  std::string id_of(const std::string& name) {
    const std::string found = page("/find?format=json&q=" + name);
    std::smatch id;
    EXPECT_TRUE(std::regex_search(found, id, std::regex("\"(id:[0-9a-f]+)\""))) << found;
    return id[1];
  }

  std::filesystem::path directory_;
  std::unique_ptr<App> app_;
};

TEST_F(Pages, EveryContextHasATreeAndAFlameGraphOfItsOwn) {
  const auto all = contexts();
  EXPECT_GT(all.size(), 60u);
  std::size_t deep = 0;
  for (const std::string& at : all) {
    const std::string tree = page("/tree?n=2&at=" + at);
    EXPECT_TRUE(holds(tree, "<nav class=trail"));
    EXPECT_TRUE(holds(page("/flame?format=json&n=2&at=" + at), "\"path\":"));
    if (holds(tree, "… ")) ++deep;
  }
  EXPECT_GT(deep, 10u);
  EXPECT_TRUE(holds(page("/tree?at=123"), "That context is gone"));
  EXPECT_TRUE(holds(page("/tree?n=3&min=0"), " more</a>"));
  EXPECT_TRUE(holds(page("/tree?n=3&base=" + path("two")), "<th scope=col class=num>change"));
}

TEST_F(Pages, TreesAreSortedAsTheAddressSays) {
  const auto place = [&](const std::string& sort, const char* name) {
    const std::string tree = page("/tree?n=500&min=0&sort=" + sort);
    return tree.find(std::string(name) + "</a>");
  };
  EXPECT_LT(place("calls", "inner"), place("calls", "generated"));
  EXPECT_LT(place("", "generated"), place("", "inner"));
  EXPECT_LT(place("self", "work"), place("self", "leaf1"));
}

TEST_F(Pages, ComparisonsShowWhatGrewAndWhatShrank) {
  const std::string base = "base=" + path("two") + "&metric=allocated";
  for (const char* name : {"tree?n=500&min=0&", "tree?n=2&min=0&", "self?", "dominated?", "flame?",
                           "overview?", "diff?", "edges?", "block/work?", "modules?"}) {
    const std::string target = std::string("/") + name + base;
    EXPECT_TRUE(holds(page(target), "fble-prof-report")) << target;
  }
  EXPECT_TRUE(holds(page("/tree?min=0&" + base), "<td class=\"num good\">"));
  EXPECT_TRUE(holds(page("/flame?format=json&" + base), "\"base\":"));
  EXPECT_TRUE(holds(page("/self?normalize=1&" + base), "--normalize"));
  EXPECT_TRUE(holds(page("/self?base=@loaded..&metric=cpu"), "--diff @loaded.."));
}

TEST_F(Pages, FunctionsOfAllKindsHaveAPage) {
  for (const char* name : {"main", "work", "script", "generated", "step3", "libshop"}) {
    const std::string id = id_of(name);
    EXPECT_TRUE(holds(page("/block/" + id), "class=fn-title")) << name;
    EXPECT_TRUE(holds(page("/flame?format=json&pivot=" + id), "\"mode\":\"pivot\"")) << name;
    EXPECT_TRUE(holds(page("/flame?pivot=" + id), "class=pivot")) << name;
    page("/source/" + id);
    page("/path/" + id_of("main") + "," + id);
    page("/call-sites/" + id);
  }
  EXPECT_TRUE(holds(page("/block/leaf*"), "… 10 more functions of that name"));
  EXPECT_TRUE(holds(page("/block/work"), "class=fn-title"));
  EXPECT_TRUE(holds(page("/block/re:["), "role=alert"));
  EXPECT_TRUE(holds(page("/path/main,nosuch"), "role=alert"));
  const std::string flame = page("/flame?format=json");
  for (const char* kind : {"\"Lua\"", "\"script\"", "\"JIT\"", "\"block\"", "\"C\""}) {
    EXPECT_TRUE(holds(flame, kind));
  }
}

TEST_F(Pages, EveryParameterOfAnAddressIsTaken) {
  EXPECT_TRUE(holds(page("/self?thread=worker"), "worker"));
  EXPECT_TRUE(holds(page("/self?sel=&exc=work&all=1"), "--exclude work"));
  EXPECT_TRUE(holds(page("/coverage?option=nothing"), "coverage"));
  EXPECT_TRUE(holds(page("/overview?min=0&all=0&inverted=0"), "<title>"));
  EXPECT_TRUE(holds(page("/self?from=loaded&to=end&n=1"), "--window loaded..end"));
  EXPECT_TRUE(holds(page("/self?to=loaded&sort=name"), "aria-sort=ascending"));
  EXPECT_TRUE(holds(page("/self?sort=name"), "fble-prof-report --self --sort name"));
  // The command must be one that the report takes.
  EXPECT_FALSE(holds(page("/hot?sort=name"), "--sort"));
  EXPECT_TRUE(holds(page("/self?n=3&min=7"), "fble-prof-report --self --top 3 " + path("one")));
  EXPECT_TRUE(holds(page("/tree?n=3&min=7"), "fble-prof-report --min 7 " + path("one")));
  EXPECT_TRUE(holds(ask("/annotate/work?option=asm&option=nosuch").body, "--annotate=work --asm "));
  EXPECT_TRUE(holds(page("/self?all=1"), "--self --all"));
  EXPECT_TRUE(holds(ask("/self?sort=nosuch").body, "sort=nosuch: /self has no such order"));
  EXPECT_TRUE(holds(page("/summary?sel=work&metric=cpu&from=loaded&base=" + path("two")),
                    "<code id=command>fble-prof-report --summary " + path("one") + "</code>"));
  EXPECT_TRUE(holds(page("/tree?select=nosuch", 400), "there is no parameter select"));
  EXPECT_TRUE(holds(page("/cliques/nothing", 200) + page("/cliques?all=1"), "step0"));
  EXPECT_TRUE(holds(page("/?q=x"), "<title>"));
  std::string many = "/self?sel=0";
  for (int i = 1; i <= 200; ++i) many += "&sel=" + std::to_string(i);
  EXPECT_TRUE(holds(page(many, 400), "too many of these"));
  for (const char* bad : {"/self?n=5x", "/self?n=100001", "/self?n=", "/tree?min=", "/tree?min=1x",
                          "/tree?min=101", "/self?format=text"}) {
    page(bad, 400);
  }
}

TEST_F(Pages, EachMetricHasItsCard) {
  const std::string memory = page("/memory");
  EXPECT_TRUE(holds(memory, "in all, freed or not; estimated from samples"));
  EXPECT_TRUE(holds(memory, "not freed yet"));
  EXPECT_FALSE(holds(memory, ">never <"));
  EXPECT_FALSE(holds(memory, ">freed <"));
  EXPECT_TRUE(holds(page("/waits"), "in calls that block"));
  for (const char* metric : {"wait", "allocated", "live", "calls", "wall", "samples", "never"}) {
    for (const char* name :
         {"overview", "tree", "hot", "threads", "memory", "windows", "summary"}) {
      page(std::string("/") + name + "?metric=" + metric);
    }
  }
}

TEST_F(Pages, WallTimeWithoutWaitsSaysWhereWaitsAre) {
  EXPECT_FALSE(holds(page("/tree?metric=wall"), "no waits were recorded"));
  FileBuilder file;
  file.charge("main work", {.cpu_ns = 3000, .wall_ns = 9000});
  file.write(path("without"));
  app_ = serve(path("without"), {});
  for (const char* target : {"/tree?metric=wall", "/flame?metric=wall", "/self?metric=wall"}) {
    EXPECT_TRUE(holds(page(target), "no waits were recorded: wall charges each")) << target;
  }
  EXPECT_FALSE(holds(page("/tree"), "no waits were recorded"));
}

TEST_F(Pages, CommandsLeadBackOrSayWhyNot) {
  EXPECT_EQ(ask("/control/stop/self?sort=name", "POST").status, 303);
  EXPECT_EQ(ask("/control/dance", "POST").status, 409);
  EXPECT_EQ(ask("/mark", "POST").status, 405);
  EXPECT_EQ(ask("/self", "POST").status, 405);
  EXPECT_EQ(ask("/export/folded").status, 200);
  EXPECT_EQ(ask("/export/folded?sel=re:[").status, 400);
  EXPECT_EQ(ask("/export/folded?from=nothing").status, 400);
  EXPECT_EQ(ask("/assets/page.css").type, "text/css; charset=utf-8");
  EXPECT_EQ(ask("/assets/nothing.js").status, 404);
  EXPECT_EQ(ask("//etc/passwd").status, 404);
  EXPECT_EQ(ask("//").status, 404);
  // A redirect to an address that begins with // would lead to another host.
  EXPECT_EQ(url_of(*parse_query(*parse_target("//example.org?n=9"))), "/-/example.org?n=9");
  EXPECT_EQ(ask("/").status, 200);
}

TEST_F(Pages, LinksToMoreRowsStayBelowTheLimit) {
  EXPECT_TRUE(holds(page("/tree?n=1000&min=50"), "n=4320&"));
  EXPECT_TRUE(holds(page("/tree?n=90000&min=50"), "n=100000&"));
  Profiles profiles([&](const LoadRequest&) -> Result<report::Loaded> {
    report::Loaded loaded;
    loaded.profile = loaded.runs = transform::merge(test::profile_of("a b = 5\n"));
    loaded.metric = "cpu";
    return loaded;
  });
  const Site site;
  Query query;
  query.page = "self";
  const auto notes = [&](std::size_t rows) {
    query.rows = rows;
    const auto data = profiles.data(query, {});
    return notes_html(Page{query, **data, site}, {"… 7 more rows (--top 0 shows all)"});
  };
  EXPECT_TRUE(holds(notes(100), "?n=500\">… 7 more rows</a>"));
  EXPECT_TRUE(holds(notes(90'000), "?n=100000\">… 7 more rows</a>"));
  EXPECT_EQ(notes(100'000), "<p class=note>… 7 more rows</p>");
}

TEST_F(Pages, AProfileOfNothingHasPagesToo) {
  Profiles profiles([](const LoadRequest&) -> Result<report::Loaded> {
    report::Loaded loaded;
    loaded.profile = loaded.runs = transform::merge(test::profile_of(""));
    loaded.metric = "cpu";
    return loaded;
  });
  const Site site;
  for (const char* name : {"overview", "tree", "flame", "self", "edges", "hot", "cliques", "memory",
                           "waits", "threads", "windows", "find", "exports"}) {
    Query query;
    query.page = name;
    const auto data = profiles.data(query, {});
    ASSERT_TRUE(data.ok()) << data.error().line();
    const auto body = page_body(Page{query, **data, site});
    EXPECT_TRUE(body.ok()) << name;
  }
}

// What contexts cost side by side would be more than what their caller costs.
TEST_F(Pages, AGreatestValueHasNoFlameGraph) {
  profile::Parts parts = test::profile_of("a b = 5\na c = 7\na d = 6\n").parts();
  parts.metrics.push_back(parts.metrics.front());
  parts.metrics.back().name = "longest-wait";
  parts.metrics.back().aggregation = profile::Aggregation::kMax;
  const profile::Profile merged = transform::merge(profile::Profile(std::move(parts)));
  Profiles profiles([&](const LoadRequest&) -> Result<report::Loaded> {
    report::Loaded loaded;
    loaded.profile = loaded.runs = merged;
    loaded.metric = "cpu";
    return loaded;
  });
  const Site site;
  for (const bool is_greatest : {false, true}) {
    for (const char* name : {"flame", "overview"}) {
      Query query;
      query.page = name;
      query.metric = is_greatest ? "longest-wait" : "cpu";
      const auto data = profiles.data(query, {});
      ASSERT_TRUE(data.ok()) << data.error().line();
      const Page page{query, **data, site};
      const auto body = page_body(page);
      ASSERT_TRUE(body.ok()) << name;
      EXPECT_EQ(holds(*body, "class=flame-data"), !is_greatest) << name;
      EXPECT_EQ(holds(*body, "a flame graph adds values up, and those of &quot;longest-wait&quot;"),
                is_greatest)
          << name;
      if (query.page == "flame") {
        EXPECT_EQ(page_json(page).ok(), !is_greatest);
      }
    }
  }
}

// Documents that no view makes at present, and all kinds of cells.
TEST_F(Pages, DocumentsShowFieldsPartsListsAndAllKindsOfCells) {
  using report::Cell;
  using report::Column;
  using Kind = Column::Kind;
  Profiles profiles([](const LoadRequest&) -> Result<report::Loaded> {
    report::Loaded loaded;
    loaded.profile = loaded.runs = transform::merge(test::profile_of("a b = 5\n"));
    loaded.metric = "cpu";
    return loaded;
  });
  Query query;
  query.page = "self";
  const auto data = profiles.data(query, {});
  ASSERT_TRUE(data.ok());
  Site site;
  const Page page{query, **data, site};
  report::Document document("made", report::Names((*data)->profile()));
  const auto shown = [](std::string text) {
    Cell cell;
    cell.shown = std::move(text);
    return cell;
  };
  const auto flag = [](std::uint64_t value) {
    Cell cell;
    cell.number = value;
    return cell;
  };
  const auto text = [](std::string words) {
    Cell cell;
    cell.parts.push_back({std::move(words), {}});
    return cell;
  };
  document.fields = {{"is true", flag(1), true}, {"is false", flag(0), true},
                     {"is shown", shown("<b>")}, {"is counted", flag(1234)},
                     {"is text", text("words")}, {"is empty", Cell()}};
  report::Section part;
  part.fields = {{"inside", text("the part")}};
  document.parts.push_back(part);
  document.lists = {{"none", {}}, {"notes", {"a note", "", "… 3 more rows (--all)"}}};
  report::Table table;
  table.columns = {{"name", "name", Kind::kName},    {"yes", "yes", Kind::kFlag},
                   {"time", "time", Kind::kTime},    {"number", "number", Kind::kNumber},
                   {"calls", "calls", Kind::kCount}, {"words", "words", Kind::kText}};
  Cell raw, function;
  raw.raw = "<raw>";
  raw.has_raw = true;
  function.parts.push_back({"", test::function_called((*data)->profile(), "b")});
  const auto inked = [&](report::Ink ink) {
    Cell cell = text("ink");
    cell.ink = ink;
    return cell;
  };
  using report::Ink;
  table.add({shown("<shown>"), flag(1), flag(2000), flag(7), flag(0), inked(Ink::kHot)});
  table.add({raw, flag(0), flag(0), flag(0), flag(3), inked(Ink::kWarm)});
  table.add({function, Cell(), shown("about"), Cell(), shown(""), inked(Ink::kGood)});
  table.add({text("plain"), Cell(), Cell(), Cell(), Cell(), inked(Ink::kBad)});
  table.add({text("dim"), Cell(), Cell(), Cell(), Cell(), inked(Ink::kDim)});
  table.add({text("none"), Cell(), Cell(), Cell(), Cell(), raw});
  document.tables.push_back(table);
  report::Table keys;  // only for programs: its keys are its titles
  keys.columns = {{"left key", "", Kind::kText}, {"", "", Kind::kText}};
  keys.add({text("x"), text("y")});
  document.tables.push_back(keys);
  const std::string html = document_html(page, document, {});
  for (const char* part_of :
       {"<dt>is true</dt><dd>yes</dd>", "<dt>is false</dt><dd>no</dd>", "<dd>&lt;b&gt;</dd>",
        "<dd>1,234</dd>", "<dd>words</dd>", "<section class=card>", "<dd>the part</dd>",
        "<p class=note>a note</p>", "… 3 more rows</a>", "&lt;shown&gt;", "&lt;raw&gt;",
        ">yes</td>", "2.00 us", "\"text hot\"", "\"text warm\"", "\"text good\"", "\"text bad\"",
        "\"text dim\"", "left key"}) {
    EXPECT_TRUE(holds(html, part_of));
  }
  EXPECT_FALSE(holds(html, "is empty"));
  // In a file there is no server to ask for more.
  site.is_file = true;
  EXPECT_FALSE(holds(document_html(page, document, {}), "more rows</a>"));
}

TEST_F(Pages, ReplacedFileOfTheSameCostIsReadAgain) {
  const auto write = [&](const char* to, const std::string& context) {
    FileBuilder file;
    file.charge(context, {.cpu_ns = 1000});
    file.write(path(to));
  };
  write("served", "main first");
  write("next", "main second");
  app_ = serve(path("served"), {});
  ASSERT_FALSE(app_->open());
  EXPECT_TRUE(holds(page("/self"), "first"));
  std::filesystem::rename(path("next"), path("served"));
  EXPECT_TRUE(holds(page("/self"), "second"));
}

TEST(ServeAddress, HostAndPortAreRead) {
  const auto read = [](const char* where) {
    const auto address = parse_address(where);
    return address ? address->host + " " + std::to_string(address->port) : address.error().line();
  };
  EXPECT_EQ(read(""), "127.0.0.1 0");
  EXPECT_EQ(read("8080"), "127.0.0.1 8080");
  EXPECT_EQ(read(":8080"), "127.0.0.1 8080");
  EXPECT_EQ(read("localhost"), "localhost 0");
  EXPECT_EQ(read("0.0.0.0:1"), "0.0.0.0 1");
  EXPECT_EQ(read("[::1]:65535"), "::1 65535");
  EXPECT_EQ(read("::1"), "::1 0");
  EXPECT_EQ(read("[::1]"), "::1 0");
  EXPECT_EQ(read("fe80::1:8080"), "fe80::1:8080 0");
  EXPECT_EQ(read("[]:1"), "[] 1");
  EXPECT_EQ(read("[x:1"), "[x 1");
  for (const char* bad : {":", ":x", ":65536", "host:1x", ":99999999999", "::1]:"}) {
    EXPECT_TRUE(holds(read(bad), "no address: [HOST][:PORT]")) << bad;
  }
}

}  // namespace
}  // namespace fbleprof::web
