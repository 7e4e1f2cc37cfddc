// The server itself: what browsers that are slow, or that leave, get of it.
#include "report/web/server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>

namespace fbleprof::web {
namespace {

using namespace std::chrono_literals;

// A server with little patience, until the test ends.
class Serving {
 public:
  explicit Serving(Server::Handler handler) {
    auto listening = Server::listen("127.0.0.1", 0, 1s);
    server_ = std::move(*listening);
    thread_ = std::thread([this, handler = std::move(handler)] { server_->run(handler); });
  }
  ~Serving() {
    // It may not listen to signals yet, but answers only afterwards.
    Browser(*this).ask("DELETE");
    kill(getpid(), SIGINT);
    thread_.join();
  }
  Server& server() { return *server_; }

  class Browser {
   public:
    explicit Browser(Serving& serving) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
      const int small = 16 * 1024;
      setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
      const timeval most{.tv_sec = 20, .tv_usec = 0};
      setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_port = htons(serving.server().port());
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    }
    ~Browser() { close(socket_); }
    Browser(const Browser&) = delete;
    Browser& operator=(const Browser&) = delete;

    void send_request(const std::string& method) const {
      const std::string text = method + " / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
      EXPECT_EQ(send(socket_, text.data(), text.size(), MSG_NOSIGNAL),
                static_cast<ssize_t>(text.size()));
    }
    // "" = that was all.
    std::string take(std::size_t most) const {
      std::string part(most, '\0');
      const ssize_t got = recv(socket_, part.data(), part.size(), 0);
      part.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
      return part;
    }
    std::string rest() const {
      std::string all;
      for (std::string part; !(part = take(1 << 20)).empty();) all += part;
      return all;
    }
    std::string ask(const std::string& method) const {
      send_request(method);
      return rest();
    }

   private:
    int socket_;
  };

 private:
  std::unique_ptr<Server> server_;
  std::thread thread_;
};

TEST(Server, SlowBrowserGetsItsWholeAnswer) {
  constexpr std::size_t kBytes = 20'000'000;
  Serving serving([](const HttpRequest&) {
    return HttpResponse{200, "text/plain", std::string(kBytes, 'x'), {}};
  });
  const Serving::Browser slow(serving);
  slow.send_request("GET");
  // Longer than the patience.
  std::size_t got = 0;
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < 3s) {
    got += slow.take(64 * 1024).size();
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_GT(got + slow.rest().size(), kBytes);

  const Serving::Browser asleep(serving);
  asleep.send_request("GET");
  std::this_thread::sleep_for(2s);
  EXPECT_LT(asleep.rest().size(), kBytes) << "who takes nothing is left";
}

// Short events are in their strings themselves. More come while one waits for a reader, until the
// server takes none any more.
TEST(Server, EventsOfAReaderThatStopsArriveInOrder) {
  Serving serving([](const HttpRequest&) {
    HttpResponse response{200, "text/event-stream", "begin;", {}};
    response.is_event_stream = true;
    return response;
  });
  const Serving::Browser stopped(serving);
  stopped.send_request("GET");
  while (serving.server().listeners() == 0) std::this_thread::sleep_for(1ms);
  std::string expected = "begin;";
  constexpr int kMost = 2'000'000;  // beyond what sockets keep
  for (int i = 0; i < kMost && serving.server().listeners() != 0; ++i) {
    const std::string event = "event " + std::to_string(i) + ";";
    serving.server().publish(event);
    expected += event;
    if (i % 16 == 0) std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(serving.server().listeners(), 0u);
  const std::string got = stopped.rest();
  const std::string events = got.substr(got.find("begin;"));
  EXPECT_GT(events.size(), 1000u);
  EXPECT_TRUE(expected.starts_with(events)) << events.substr(events.size() - 100);
}

}  // namespace
}  // namespace fbleprof::web
