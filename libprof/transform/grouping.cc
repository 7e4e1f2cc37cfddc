#include "transform/grouping.h"

#include <fmt/format.h>

namespace fbleprof::transform {

using namespace profile;

namespace {

std::string process_name(const Profile& profile, const Process& process) {
  const std::string_view executable = profile.text(process.executable);
  return fmt::format("{} ({})",
                     executable.empty() ? profile.text(process.file) : base_name(executable),
                     process.pid);
}

std::string thread_name(const Profile& profile, const Thread& thread) {
  if (thread.threads_served > 1) {
    return fmt::format("thread \"{}\" (and {} before it)", profile.text(thread.name),
                       thread.threads_served - 1);
  }
  return fmt::format("thread \"{}\" ({})", profile.text(thread.name), thread.tid);
}

const Label* find_label(const Profile& profile, const std::vector<Label>& labels,
                        const std::string& key) {
  for (const Label& label : labels) {
    if (profile.text(label.key) == key) return &label;
  }
  return nullptr;
}

std::string label_name(const Profile& profile, const Process& process, const Thread* thread,
                       const std::string& key) {
  // A thread's own label is the closer one.
  const Label* label = thread != nullptr ? find_label(profile, thread->labels, key) : nullptr;
  if (label == nullptr) label = find_label(profile, process.labels, key);
  return label == nullptr ? fmt::format("[no {}]", key)
                          : fmt::format("{}={}", key, profile.text(label->value));
}

}  // namespace

Result<Split> parse_split(const std::string& text) {
  if (text == "process") return Split{Split::By::kProcess, {}};
  if (text == "thread") return Split{Split::By::kThread, {}};
  if (text == "host") return Split{Split::By::kHost, {}};
  if (text == "file") return Split{Split::By::kFile, {}};
  if (text.starts_with("label:") && text.size() > 6) {
    return Split{Split::By::kLabel, text.substr(6)};
  }
  return Error{"",
               {},
               fmt::format("cannot split by \"{}\"", text),
               "process, host, thread, label:KEY or file"};
}

std::vector<std::string> group_names(const Profile& profile, const Tree& tree,
                                     const std::vector<Split>& splits) {
  std::vector<std::string> names;
  if (!tree.process) return names;
  const Process& process = profile.processes()[tree.process.index()];
  const Thread* thread = tree.thread ? &profile.threads()[tree.thread.index()] : nullptr;
  for (const Split& split : splits) {
    switch (split.by) {
      case Split::By::kProcess:
        names.push_back(process_name(profile, process));
        break;
      case Split::By::kThread:
        if (thread != nullptr) names.push_back(thread_name(profile, *thread));
        break;
      case Split::By::kHost: {
        const std::string_view host = profile.text(process.host);
        names.push_back(host.empty() ? "[host not known]" : std::string(host));
        break;
      }
      case Split::By::kFile:
        names.emplace_back(profile.text(process.file));
        break;
      case Split::By::kLabel:
        names.push_back(label_name(profile, process, thread, split.label));
        break;
    }
  }
  return names;
}

}  // namespace fbleprof::transform
