#include "tests/support/profile_builder.h"

#include <random>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "profile/builder.h"

namespace fbleprof::test {

using namespace profile;

namespace {

class Lines {
 public:
  Lines() {
    cpu_ = builder_.add_metric("cpu", "ns");
    builder_.add_metric("calls", "count");
    process_ = builder_.add_process({});
    start_thread("main");
  }

  void line(const std::string& text) {
    std::istringstream words(text);
    NodeId left = root_, right = root_, *at = &left;
    std::string sign;
    for (std::string word; words >> word;) {
      if (word == "thread") {
        words >> word;
        start_thread(word);
        return;
      }
      if (word == "=" || word == "->" || word == ":") {
        if (sign.empty()) sign = word;
        break;
      }
      if (word == "~>" || word == "=>") {
        sign = word;
        at = &right;
        continue;
      }
      const auto kind = word == "[truncated]" ? FunctionKind::kTruncated : FunctionKind::kBlock;
      *at = builder_.child(*at, builder_.named_function(word, kind));
    }
    std::uint64_t value = 0;
    words >> value;
    if (sign == "=") builder_.charge(left, cpu_, value);
    if (sign == "->") builder_.add_edge(NodeId(), left, EdgeKind::kTree, value);
    if (sign == "~>") builder_.add_edge(left, right, EdgeKind::kBack, value);
    if (sign == "=>") builder_.add_edge(left, right, EdgeKind::kTail, value);
  }

  Profile build() { return builder_.build(); }

 private:
  void start_thread(const std::string& name) {
    Thread thread;
    thread.process = process_;
    thread.name = builder_.string(name);
    thread.tid = ++tid_;
    thread.threads_served = 1;
    root_ = builder_.add_tree(builder_.named_function("[root]", FunctionKind::kRoot), process_,
                              builder_.add_thread(thread));
  }

  ProfileBuilder builder_;
  MetricId cpu_;
  ProcessId process_;
  NodeId root_;
  std::uint32_t tid_ = 0;
};

std::string path_of(const Profile& profile, NodeId node) {
  std::string path;
  for (NodeId n = node; n && profile.nodes().parent[n.index()];
       n = profile.nodes().parent[n.index()]) {
    const std::string name = display_name(profile, profile.nodes().function[n.index()]);
    path = path.empty() ? name : name + " " + path;
  }
  return path;
}

}  // namespace

Profile profile_of(std::string_view text) {
  Lines lines;
  std::istringstream stream{std::string(text)};
  for (std::string line; std::getline(stream, line);) lines.line(line);
  return lines.build();
}

std::string text_of(const Profile& profile) {
  std::ostringstream out;
  const Nodes& nodes = profile.nodes();
  const Metric* cpu = profile.find_metric("cpu");
  const Metric* calls = profile.find_metric("calls");
  for (std::size_t n = 0; n < nodes.count(); ++n) {
    out << std::string(nodes.depth[n], '.') << display_name(profile, nodes.function[n]);
    if (const auto value = cpu->value(NodeId(n))) out << " cpu=" << value;
    if (const auto value = calls ? calls->value(NodeId(n)) : 0) out << " calls=" << value;
    out << '\n';
  }
  const Edges& edges = profile.edges();
  for (std::size_t e = 0; e < edges.count(); ++e) {
    if (edges.kind[e] == EdgeKind::kTree) continue;
    out << path_of(profile, edges.from[e]) << (edges.kind[e] == EdgeKind::kBack ? " ~> " : " => ")
        << path_of(profile, edges.to[e]) << " : " << edges.calls[e] << '\n';
  }
  return out.str();
}

FunctionId function_called(const Profile& profile, std::string_view name) {
  for (const FunctionId f : profile.nodes().function) {
    if (display_name(profile, f) == name) return f;
  }
  return {};
}

std::string random_paths(unsigned seed, int steps, std::size_t longest, unsigned functions) {
  std::mt19937 random(seed);
  std::string text = "main -> 1\n";
  std::string path = "main";
  for (int i = 0; i < steps; ++i) {
    if (random() % 3 == 0 || path.size() > longest) path = "main";
    path += std::string(" ") + static_cast<char>('a' + random() % functions);
    text += path + " = " + std::to_string(random() % 100) + "\n";
    text += path + " -> " + std::to_string(random() % 9) + "\n";
    if (random() % 4 == 0)
      text += path + " ~> " + path + " : " + std::to_string(random() % 5) + "\n";
  }
  return text;
}

}  // namespace fbleprof::test
