#include "report/web/serve.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "base/big_arrays.h"
#include "control/running_profile.h"
#include "profile/file_image.h"
#include "report/text/say.h"
#include "report/web/app.h"
#include "report/web/server.h"

extern char** environ;

namespace fbleprof::web {

namespace fs = std::filesystem;

namespace {

std::string time_of_day() {
  const std::time_t now = std::time(nullptr);
  char time[16];
  std::strftime(time, sizeof time, "%T", std::localtime(&now));
  return time;
}

// Opens the link if a user sits at a screen. A missing browser is not an error: the link was
// printed.
void open_browser(const std::string& link) {
  const bool has_screen =
      std::getenv("DISPLAY") != nullptr || std::getenv("WAYLAND_DISPLAY") != nullptr;
  if (!has_screen || isatty(STDOUT_FILENO) == 0) return;
  std::string program = "xdg-open", argument = link;
  char* arguments[] = {program.data(), argument.data(), nullptr};
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", 1, 0);
  // Ctrl-C and the terminal's end are for the server, not for the user's browser.
  posix_spawnattr_t apart;
  posix_spawnattr_init(&apart);
  posix_spawnattr_setflags(&apart, POSIX_SPAWN_SETSID);
  pid_t child = 0;
  posix_spawnp(&child, program.c_str(), &quiet, &apart, arguments, environ);
  posix_spawnattr_destroy(&apart);
  posix_spawn_file_actions_destroy(&quiet);
}

// Copies of live files, as baselines. Removed with the server.
class Marks {
 public:
  explicit Marks(std::vector<std::string> files) : files_(std::move(files)) {}
  ~Marks() {
    std::error_code ignored;
    if (!folder_.empty()) fs::remove_all(folder_, ignored);
  }

  Result<Base> save() {
    const std::lock_guard lock(mutex_);
    if (folder_.empty()) {
      std::string name = (fs::temp_directory_path() / "fbleprof.XXXXXX").string();
      if (mkdtemp(name.data()) == nullptr) return failure();
      folder_ = name;
    }
    Base mark;
    mark.name = fmt::format("mark{}", ++number_);
    mark.is_mark = true;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const std::string copy = folder_ / fmt::format("{}.{}.mlmon", mark.name, i);
      if (Status bad = copy_profile(files_[i], copy)) return *bad;
      mark.files.push_back(copy);
    }
    mark.label = fmt::format("mark {} at {}", number_, time_of_day());
    return mark;
  }

 private:
  static Error failure() {
    return {"mark", std::nullopt, "cannot copy the profile", "is the disk full?"};
  }

  // Only the used part: a live file is much larger than its content.
  static Status copy_profile(const std::string& file, const std::string& copy) {
    auto image = profile::FileImage::load(file);
    if (!image) return image.error();
    std::ofstream out(copy, std::ios::binary);
    std::vector<std::byte> buffer(1u << 20);
    std::uint64_t at = 0;
    const std::uint64_t end = std::min(image->size(), image->header().used_bytes);
    while (at < end) {
      const std::size_t got =
          image->read(buffer.data(), std::min<std::uint64_t>(buffer.size(), end - at), at);
      if (got == 0) break;
      out.write(reinterpret_cast<const char*>(buffer.data()), static_cast<std::streamsize>(got));
      at += got;
    }
    if (!out.flush()) return failure();
    return std::nullopt;
  }

  const std::vector<std::string> files_;
  std::mutex mutex_;
  fs::path folder_;
  unsigned number_ = 0;
};

// The recorder that writes the file, if there is only one.
class RecorderControl : public Control {
 public:
  explicit RecorderControl(std::vector<std::string> files) : files_(std::move(files)) {}

  std::vector<std::string> actions() const override {
    if (files_.size() != 1) return {};
    const auto header = control::RunningProfile::header_of(files_[0]);
    if (!header) return {};
    return {header->is_recording != 0 ? "stop" : "start", "snapshot", "reset"};
  }

  Status run(const std::string& action) override {
    auto profile = open();
    if (!profile) return profile.error();
    if (action == "snapshot") return profile->snapshot(time_of_day());
    if (action == "reset") return profile->reset();
    if (action != "start" && action != "stop") {
      return Error{"", std::nullopt, "no such command", "start, stop, snapshot, reset"};
    }
    constexpr std::chrono::milliseconds kPatience(500);
    const auto answer = profile->set_recording(action == "start", kPatience);
    if (!answer) return answer.error();
    return std::nullopt;  // a program that sleeps obeys when it runs next
  }

 private:
  Result<control::RunningProfile> open() const {
    if (files_.size() != 1) return Error{"", std::nullopt, "one file at a time", ""};
    return control::RunningProfile::open(files_[0]);
  }

  const std::vector<std::string> files_;
};

// "[::1]" without its brackets.
std::string host_of(const std::string& text) {
  const bool has_brackets = text.size() > 2 && text.front() == '[' && text.back() == ']';
  return has_brackets ? text.substr(1, text.size() - 2) : text;
}

// Its colons are no port's.
bool is_v6_host(const std::string& text) {
  in6_addr ignored;
  return text.ends_with(']') || inet_pton(AF_INET6, text.c_str(), &ignored) == 1;
}

}  // namespace

Result<Address> parse_address(const std::string& where) {
  Address address;
  if (where.empty()) return address;
  if (is_v6_host(where)) {
    address.host = host_of(where);
    return address;
  }
  const Error bad{"--serve " + where, std::nullopt, "no address", "[HOST][:PORT], e.g. :8080"};
  std::string port = where;
  if (const std::size_t colon = where.rfind(':'); colon != std::string::npos) {
    const std::string host = where.substr(0, colon);
    port = where.substr(colon + 1);
    if (!host.empty()) address.host = host_of(host);
  } else if (where.find_first_not_of("0123456789") != std::string::npos) {
    address.host = where;
    return address;
  }
  unsigned number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error != std::errc() || end != port.data() + port.size() || number > 65535) return bad;
  address.port = static_cast<unsigned short>(number);
  return address;
}

Status serve(const ServeOptions& options, Load load) {
  const auto address = parse_address(options.where);
  if (!address) return address.error();
  auto listening = Server::listen(address->host, address->port);
  if (!listening) return listening.error();
  Server& server = **listening;
  share_freed_memory();  // any of the server's threads may make or drop a large result

  Access access{make_token(), address->host, server.port()};
  if (access.token.empty()) return Error{"--serve", std::nullopt, "no random numbers", ""};
  Site site;
  site.version = options.version;
  site.files = options.files;
  site.are_runs = options.are_runs;
  Marks marks(options.files);
  App app(
      access, site, std::move(load), options.bases, [&] { return marks.save(); },
      std::make_unique<RecorderControl>(options.files));
  // Unreadable files are reported here, not in a browser.
  if (Status bad = app.open()) return bad;

  const bool is_v6 = address->host.find(':') != std::string::npos;
  const std::string link =
      fmt::format("http://{}:{}/?token={}", is_v6 ? "[" + address->host + "]" : address->host,
                  server.port(), access.token);
  // Without it, nobody can open the page.
  if (std::fputs((link + "\n").c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
    return Error{"stdout", std::nullopt, "cannot write the link", std::strerror(errno)};
  }
  const bool is_local =
      address->host.starts_with("127.") || address->host == "::1" || address->host == "localhost";
  if (!is_local) {
    report::say(
        "anyone who has the link can read the profile, and the connection is not encrypted");
  }
  open_browser(link);

  std::mutex mutex;
  std::condition_variable wake;
  bool is_over = false;
  std::thread watcher([&] {
    app.make_ahead();
    std::string told = app.event();
    std::unique_lock lock(mutex);
    while (!wake.wait_for(lock, std::chrono::seconds(1), [&] { return is_over; })) {
      lock.unlock();
      if (server.listeners() != 0) {
        app.refresh();
        if (std::string state = app.event(); state != told) server.publish(told = state);
      }
      lock.lock();
    }
  });
  server.run([&](const HttpRequest& request) { return app.answer(request); });
  {
    const std::lock_guard lock(mutex);
    is_over = true;
    app.end();
  }
  wake.notify_all();
  watcher.join();
  return std::nullopt;
}

}  // namespace fbleprof::web
