#include "fake_recorder.h"

#include <cstdlib>
#include <cstring>
#include <exception>

#include "memory.h"

namespace fbleprof::adapters {

namespace {

FakeRecorder* recorder;
int pipe_ends[2];
int last_context;

std::string number(std::uint64_t of) { return std::to_string(of); }
void note(const std::string& event) { recorder->events.push_back(event); }
fbleprof_context* context_of(int of) {
  return reinterpret_cast<fbleprof_context*>(static_cast<std::intptr_t>(of));
}
int number_of(fbleprof_context* context) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(context));
}

fbleprof_block add(std::uint64_t key, const fbleprof_source* source) {
  if (!recorder->has_space) return 0;
  const auto text = [](const char* from) { return std::string(from ? from : ""); };
  recorder->blocks.push_back(
      {key, text(source->name), text(source->file), text(source->language), source->line});
  return static_cast<fbleprof_block>(recorder->blocks.size());
}

fbleprof_block of_key(std::uint64_t key) {
  for (std::size_t i = recorder->blocks.size(); i-- > 0;) {
    if (recorder->blocks[i].key == key) return static_cast<fbleprof_block>(i + 1);
  }
  return 0;
}

// Asks the kernel: it writes no byte into a pipe that it cannot read.
bool is_readable(std::uintptr_t page) {
  char byte = 0;
  return write(pipe_ends[1], reinterpret_cast<const void*>(page), 1) == 1 &&
         read(pipe_ends[0], &byte, 1) == 1;
}

// Some tests read a million times.
int peek(const void* from, void* to, std::size_t bytes) {
  constexpr std::uintptr_t kPage = 4096;
  static std::set<std::uintptr_t> readable;
  static unsigned edges_then;
  if (edges_then != edges_made) readable.clear();
  edges_then = edges_made;
  const auto begin = reinterpret_cast<std::uintptr_t>(from), end = begin + bytes;
  if (end < begin) return 0;
  for (std::uintptr_t page = begin & ~(kPage - 1); page < end; page += kPage) {
    if (readable.count(page) != 0) continue;
    if (!is_readable(page)) return 0;
    readable.insert(page);
  }
  std::memcpy(to, from, bytes);
  return 1;
}

fbleprof_api make_api() {
  fbleprof_api api{};
  api.version = FBLEPROF_API_VERSION;
  api.size = sizeof api;
  api.enter = [](fbleprof_block block) { note("enter " + recorder->name_of(block)); };
  api.leave = [](fbleprof_block block) { note("leave " + recorder->name_of(block)); };
  api.replace = [](fbleprof_block block) { note("replace " + recorder->name_of(block)); };
  api.redo = [](fbleprof_block block) { note("redo " + recorder->name_of(block)); };
  api.mark = []() -> std::uint64_t { return 7; };
  api.rewind = [](std::uint64_t mark) { note("rewind to " + number(mark)); };
  api.context_new = [](std::size_t) -> fbleprof_context* {
    if (!recorder->has_contexts) return nullptr;
    recorder->contexts.insert(++last_context);
    return context_of(last_context);
  };
  api.context_switch = [](fbleprof_context* to) -> fbleprof_context* {
    note("switch to " + std::to_string(number_of(to)));
    return nullptr;
  };
  api.context_free = [](fbleprof_context* context) {
    recorder->contexts.erase(number_of(context));
  };
  api.context_reset = [](fbleprof_context*) { return recorder->resets_contexts ? 0 : -1; };
  api.block_add = [](std::uint32_t, const fbleprof_source* source) { return add(0, source); };
  api.block_of_key = of_key;
  api.block_with_key = [](std::uint64_t key, const fbleprof_source* source) {
    const fbleprof_block known = of_key(key);
    return known != 0 ? known : add(key, source);
  };
  api.block_rename = [](fbleprof_block block, const char* name) {
    if (block == 0 || block > recorder->blocks.size()) return -1;
    recorder->blocks[block - 1].name = name;
    return 0;
  };
  api.read_stack = [](const void*, int (*reader)(void*, fbleprof_frame*)) {
    if (!recorder->knows_loops) return -1;
    recorder->reader = reader;
    return 0;
  };
  api.peek = peek;
  return api;
}

}  // namespace

// Libraries find it by this name.
extern "C" {
extern const fbleprof_api fbleprof_api_table;
const fbleprof_api fbleprof_api_table = make_api();
}

FakeRecorder::FakeRecorder() {
  EXPECT_EQ(pipe(pipe_ends), 0);
  recorder = this;
  last_context = 0;
  fbleprof_api_ = &fbleprof_api_table;
}

FakeRecorder::~FakeRecorder() {
  fbleprof_api_ = nullptr;
  recorder = nullptr;
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

fbleprof_block FakeRecorder::block_named(const std::string& name) const {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].name == name) return static_cast<fbleprof_block>(i + 1);
  }
  return 0;
}

std::string FakeRecorder::take_events() {
  std::string all;
  for (const std::string& event : events) all += event + "\n";
  events.clear();
  return all;
}

void in_child(const std::function<void()>& part) {
  fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    try {
      part();
    } catch (const std::exception& thrown) {
      ADD_FAILURE() << thrown.what();
    }
    fflush(nullptr);
    std::exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "in a process of its own";
}

// What adapters ask the recorder for beside the table.
extern "C" __attribute__((visibility("default"))) int fbleprof_callers(const void** functions,
                                                                       int most) {
  int count = 0;
  if (recorder && !recorder->callers.empty()) {
    for (const void* function : recorder->callers.front()) {
      if (count < most) functions[count++] = function;
    }
    recorder->callers.erase(recorder->callers.begin());
  }
  return count;
}
extern "C" __attribute__((visibility("default"))) const std::uint64_t*
fbleprof_interrupted_registers() {
  return recorder ? recorder->registers : nullptr;
}

}  // namespace fbleprof::adapters
