// fble-prof-push, which `fble-prof push` executes: sends a profile to a server.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <thread>

#include "base/standard_descriptors.h"
#include "report/push/otlp_answer.h"
#include "report/push/post.h"
#include "report/push/push.h"
#include "report/text/escape.h"
#include "report/text/progress_bar.h"
#include "report/text/say.h"

namespace {

using namespace fbleprof;

constexpr int kSent = 0, kRefused = 1, kFailed = 2;
constexpr std::size_t kMostOfAnswerShown = 300;

void say(const std::string& line) { report::say("fble-prof push: " + line); }

std::string explain(const push::Response& response, const push::Options& options) {
  if (response.status == 0) return fmt::format("{}: {}", options.url_text, response.problem);
  std::string why =
      options.format == push::Format::kOtlp ? push::otlp_reason(response) : response.body;
  why = why.substr(0, kMostOfAnswerShown);
  while (!why.empty() && (why.back() == '\n' || why.back() == ' ')) why.pop_back();
  return fmt::format("{}: the server refused it: HTTP {}{}{}", options.url_text, response.status,
                     why.empty() ? "" : ": ", why);
}

int run(int argc, char** argv) {
  const auto options = push::parse_options(argc, argv);
  if (!options) {
    report::say(options.error().line());
    return kFailed;
  }
  if (options->action != push::Options::Action::kPush) {
    const std::string text = options->action == push::Options::Action::kHelp
                                 ? push::help_text()
                                 : "fble-prof push " FBLEPROF_VERSION "\n";
    return std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0 ? kSent : kFailed;
  }
  report::ProgressBar progress(isatty(STDERR_FILENO) != 0);
  auto prepared = push::prepare(*options, &progress);
  progress.clear();
  if (!prepared) {
    say(prepared.error().line());
    return kFailed;
  }
  for (const std::string& remark : prepared->remarks) say(remark);
  if (!prepared->upload) {
    fmt::print("nothing new since the last push\n");
    return kSent;
  }

  const push::Upload& upload = *prepared->upload;
  const bool is_otlp = options->format == push::Format::kOtlp;
  const push::Request request = is_otlp ? push::otlp_post(options->server, upload)
                                        : push::ingest_request(options->server, upload);
  unsigned tries = 0;
  const push::Response response = push::post_with_retries(
      [&] {
        ++tries;
        return push::post(request, options->tenant, options->timeout_s);
      },
      options->format, options->retries,
      [](std::chrono::milliseconds pause) { std::this_thread::sleep_for(pause); });
  if (response.status < 200 || response.status >= 300) {
    say(explain(response, *options) + (tries > 1 ? fmt::format(" (tried {} times)", tries) : ""));
    return kRefused;
  }
  if (is_otlp) {
    const push::OtlpAnswer answer = push::otlp_answer(response);
    const std::string remark = answer.message.substr(0, kMostOfAnswerShown);
    if (answer.rejected != 0) {
      say(fmt::format("{}: the server refused {} of the profile's metrics: {}", options->url_text,
                      answer.rejected, remark));
      return kRefused;
    }
    if (!remark.empty()) say(fmt::format("{}: the server says: {}", options->url_text, remark));
  }
  fmt::print(
      "sent {} bytes to {} as {}\n", upload.profile.size(), options->url_text,
      report::escape(is_otlp ? upload.name : push::application_name(upload.name, upload.labels)));
  if (!prepared->state_file.empty()) {
    if (auto bad = push::write_state(prepared->state_file, prepared->now)) say(bad->line());
  }
  return kSent;
}

}  // namespace

int main(int argc, char** argv) {
  fbleprof::reserve_standard_descriptors();
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    say(error.what());
  }
  return kFailed;
}
