// Answers requests: turns an address into a query, and a query into a page, a document or a file.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "report/web/access.h"
#include "report/web/bases.h"
#include "report/web/cache.h"
#include "report/web/http.h"
#include "report/web/profiles.h"
#include "report/web/site.h"

namespace fbleprof::web {

class App {
 public:
  // `bases`: files to compare with. `save_mark`, which may be null, keeps a copy of the served
  // files, as another one.
  App(Access access, Site site, Load load, std::vector<std::string> bases,
      std::function<Result<Base>()> save_mark, std::unique_ptr<Control> control);

  // Thread-safe.
  HttpResponse answer(const HttpRequest& request);
  // Checks whether the files have changed.
  void refresh();
  // The event of a stream that tells pages the present state, by which they know that they are out
  // of date.
  std::string event();
  // Reads the files. Fails if there is nothing to show.
  Status open();
  // Makes the pages of the menu, and slow sources, before they are requested.
  void make_ahead();
  // No more requests will come: make_ahead() returns as soon as it can.
  void end() { is_over_ = true; }

 private:
  struct Made {
    unsigned status;
    std::string type, text;
  };
  HttpResponse page(const Query& asked);
  std::shared_ptr<const Made> make(const Query& query, const Site& site);
  HttpResponse exported(const Query& query);
  HttpResponse post(const Query& query);
  HttpResponse failure(const Query& query, const Error& error, unsigned status, const Site& site);
  Site site() const;
  // With the profiles to compare with, if a page of `query` depends on them.
  Site site_for(const Query& query);
  // What is known of the served files without reading them.
  struct Files {
    std::string state;     // changes when one is written or replaced
    std::string identity;  // changes when one is replaced
  };
  Files files() const;
  bool is_replaced(const Files& now) const;
  bool is_old() const;
  void refresh_if_old();

  const Access access_;
  mutable std::mutex site_mutex_;
  Site site_;  // its bases are the marks
  Profiles profiles_;
  Bases bases_;
  const std::function<Result<Base>()> save_mark_;
  const std::unique_ptr<Control> control_;
  Cache<std::shared_ptr<const Made>> made_{64};
  std::atomic<bool> is_over_ = false;
  std::mutex refreshing_;
  // Under site_mutex_, as site_:
  Files read_;  // the files before they were read
  std::chrono::steady_clock::time_point refreshed_{};
  std::chrono::steady_clock::duration patience_ = std::chrono::seconds(1);
};

}  // namespace fbleprof::web
