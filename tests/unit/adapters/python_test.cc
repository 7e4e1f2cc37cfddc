// The structures of CPython 3.9 to 3.13, laid out in a test's memory: code objects, strings, frames
// and threads, whole and damaged; and interpreters that lack what the adapter needs.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "adapters/python_exact.h"
#include "adapters/python_interpreter.h"
#include "adapters/python_sampled.h"
#include "adapters/python_text.h"
#include "fake_python.h"
#include "fake_recorder.h"
#include "library_copy.h"
#include "memory.h"
#include "tests/support/no_resources.h"

namespace fbleprof::adapters::python {
namespace {

// A string of the interpreter's. `kind`: bytes to a character.
Raw string_of(const std::string& characters, unsigned kind = 1, bool is_ascii = true,
              bool is_compact = true) {
  const int start = is_ascii ? layout->ascii : layout->wide;
  Raw string(static_cast<std::size_t>(start) + characters.size() + 8);
  string.put(kTypeOf, string_type)
      .put(kLength, std::uint64_t{characters.size() / kind})
      .put(kTextState, kind << 2 | (is_compact ? 1u : 0u) << 5 | (is_ascii ? 1u : 0u) << 6);
  std::memcpy(string.at(static_cast<std::size_t>(start)), characters.data(), characters.size());
  return string;
}

// A code object.
class Code {
 public:
  Code(const std::string& file, const std::string& name, int line)
      : file_(string_of(file)), name_(string_of(name)) {
    object_.put(kTypeOf, code_type)
        .put(static_cast<std::size_t>(layout->line), line)
        .put(static_cast<std::size_t>(layout->file), file_.at())
        .put(static_cast<std::size_t>(layout->name), name_.at());
  }
  Raw& raw() { return object_; }
  char* object() { return object_.at(); }
  Raw& name() { return name_; }
  Raw& file() { return file_; }

 private:
  Raw object_, file_, name_;
};

std::deque<Code> made_codes;
int wrong_line, missing_codes;

void* make_code(const char* file, const char* name, int line) {
  if (missing_codes != 0) return nullptr;
  made_codes.emplace_back(file, name, line + wrong_line);
  return made_codes.back().object();
}

// The interpreter as a library of its own, which may lack a function.
class Library {
 public:
  explicit Library(const std::vector<std::string>& without = {}) : copy_(FAKE_PYTHON, without) {
    *static_cast<FakePython**>(copy_.find("fake_python")) = &python;
  }
  void* runtime() const { return copy_.find("_PyRuntime"); }

  FakePython python;

 private:
  LibraryCopy copy_;
};

constexpr char kFound[] = "found";
std::string found(const Library& library) {
  const char* obstacle = find_interpreter(library.runtime());
  if (!obstacle) obstacle = check_interpreter();
  return obstacle ? obstacle : kFound;
}

std::string version_of(int minor) { return "3." + std::to_string(minor) + ".1 (main)"; }

// -- Finding the interpreter --

class PythonLibrary : public testing::Test {
 protected:
  PythonLibrary() {
    wrong_line = missing_codes = 0;
    library_.python.thread = this;
    library_.python.new_empty_code = make_code;
  }
  FakeRecorder recorder_;
  Library library_;
};

TEST_F(PythonLibrary, EachKnownVersionIsFound) {
  for (int minor = 9; minor <= 13; ++minor) {
    const std::string version = version_of(minor);
    library_.python.version = version.c_str();
    EXPECT_EQ(found(library_), kFound) << minor;
    EXPECT_EQ(layout->minor, minor);
    EXPECT_TRUE(find_exact_functions());
  }
  EXPECT_EQ(library_.python.released, 5);
}

TEST_F(PythonLibrary, OtherVersionsAreRefused) {
  for (const char* version : {"3.8.1", "3.14.0", "2.7.18", "4.0", ""}) {
    library_.python.version = version;
    EXPECT_EQ(found(library_), "Python: only the scripts of 3.9 to 3.13 are shown") << version;
  }
}

TEST_F(PythonLibrary, AThreadWithoutAStateIsRefused) {
  library_.python.thread = nullptr;
  EXPECT_EQ(found(library_), "Python: no thread state");
}

TEST_F(PythonLibrary, ABuildWithOtherStructuresIsRefused) {
  const std::string refused = "Python: this build has other structures than a release";
  wrong_line = 1;
  EXPECT_EQ(found(library_), refused);
  wrong_line = 0;
  missing_codes = 1;
  EXPECT_EQ(found(library_), refused);
  missing_codes = 0;
  using Make = void* (*)(const char*, const char*, int);
  const Make damaged[] = {
      [](const char* file, const char* name, int line) {
        auto* code = static_cast<char*>(make_code(file, name, line));
        std::memset(code + kTypeOf, 1, 8);
        return static_cast<void*>(code);
      },
      [](const char* file, const char* name, int line) {
        void* code = make_code(file, name, line);
        made_codes.back().name().put(kTypeOf, Address{nullptr});
        return code;
      },
      [](const char* file, const char* name, int line) {
        void* code = make_code(file, name, line);
        made_codes.back().file().put(kTypeOf, Address{nullptr});
        return code;
      },
      [](const char* file, const char*, int line) { return make_code(file, "other", line); },
      [](const char*, const char* name, int line) { return make_code("other.py", name, line); },
  };
  for (const Make make : damaged) {
    library_.python.new_empty_code = make;
    EXPECT_EQ(found(library_), refused);
  }
}

TEST_F(PythonLibrary, AnInterpreterThatIsNoLibraryIsNotFound) {
  EXPECT_STREQ(find_interpreter(this), "Python: its library is not known");
  EXPECT_STREQ(find_interpreter(&made_codes), "Python: its functions are not exported");
}

// libfbleprof_python.so, as the recorder starts it. "ready": nothing is wrong.
std::string started(const Library& library, bool is_exact) {
  find_interpreter(library.runtime());  // what the test makes is as this version has it
  void* adapter = dlopen(PYTHON_ADAPTER, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(adapter, nullptr) << dlerror();
  using Start = const char*(void* runtime, int exact);
  const char* obstacle = reinterpret_cast<Start*>(dlsym(adapter, "fbleprof_python_start"))(
      library.runtime(), is_exact ? 1 : 0);
  return obstacle ? obstacle : "ready";
}

TEST_F(PythonLibrary, TheAdapterSaysWhatDoesNotWork) {
  in_child([this] {
    library_.python.version = "2.7.18";
    EXPECT_EQ(started(library_, false), "Python: only the scripts of 3.9 to 3.13 are shown");
    EXPECT_EQ(recorder_.reader, nullptr);
  });
  in_child([this] {
    recorder_.knows_loops = false;
    EXPECT_EQ(started(library_, false), "Python: its loop is not known");
  });
  in_child([this] {
    EXPECT_EQ(started(library_, false), "ready");
    EXPECT_NE(recorder_.reader, nullptr);
  });
  in_child([this] {
    library_.python.extra_index = -1;
    EXPECT_EQ(started(library_, true), "Python: its calls are not counted, only sampled");
    EXPECT_NE(recorder_.reader, nullptr);
  });
  in_child([this] {
    Raw thread(1024), cframe;
    thread.put(56, cframe.at());
    library_.python.thread = thread.at();
    EXPECT_EQ(started(library_, true), "ready");
  });
}

class PythonWithoutFunction : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Missing, PythonWithoutFunction,
                         testing::Values("PyGILState_GetThisThreadState", "Py_GetVersion",
                                         "PyCode_NewEmpty", "Py_DecRef", "_PyEval_EvalFrameDefault",
                                         "PyCode_Type", "PyUnicode_Type", "PyModule_Type"));
TEST_P(PythonWithoutFunction, IsRefused) {
  FakeRecorder recorder;
  const Library library({GetParam()});
  EXPECT_EQ(found(library), "Python: its functions are not exported");
}

const std::vector<std::string> kNewerNames = {"PyUnstable_Eval_RequestCodeExtraIndex",
                                              "PyUnstable_Code_GetExtra",
                                              "PyUnstable_Code_SetExtra"};

class PythonWithoutExactFunction : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Missing, PythonWithoutExactFunction,
                         testing::Values("_PyEval_RequestCodeExtraIndex", "_PyCode_GetExtra",
                                         "_PyCode_SetExtra", "PyInterpreterState_Main",
                                         "PyInterpreterState_ThreadHead", "PySys_GetObject"));
TEST_P(PythonWithoutExactFunction, IsSampledButNotCounted) {
  FakeRecorder recorder;
  std::vector<std::string> without = kNewerNames;
  without.push_back(GetParam());
  Library library(without);
  library.python.thread = this;
  library.python.new_empty_code = make_code;
  EXPECT_EQ(found(library), kFound);
  EXPECT_FALSE(start_exact());
  EXPECT_FALSE(is_exact());
}

TEST_F(PythonLibrary, TheOlderNamesOfFunctionsAreKnown) {
  Library older(kNewerNames);
  older.python.thread = this;
  older.python.new_empty_code = make_code;
  EXPECT_EQ(found(older), kFound);
  EXPECT_TRUE(find_exact_functions());
}

class PythonSince12 : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Missing, PythonSince12,
                         testing::Values("PyEval_SetProfile", "PyEval_SetProfileAllThreads",
                                         "PyInterpreterState_Get", "Py_IncRef"));
TEST_P(PythonSince12, NeedsToProfileAllThreads) {
  FakeRecorder recorder;
  for (const int minor : {11, 12}) {
    Library library({GetParam()});
    const std::string version = version_of(minor);
    library.python.version = version.c_str();
    library.python.thread = &library;
    library.python.new_empty_code = make_code;
    EXPECT_EQ(found(library), kFound);
    EXPECT_EQ(find_exact_functions(), minor == 11);
  }
}

// -- An interpreter of each version --

class Python : public testing::TestWithParam<int> {
 protected:
  Python() : version_(version_of(GetParam())) {
    wrong_line = missing_codes = 0;
    library_.python.version = version_.c_str();
    library_.python.thread = thread_.at();
    library_.python.new_empty_code = make_code;
    EXPECT_EQ(found(library_), kFound);
  }
  std::string version_;
  FakeRecorder recorder_;
  Library library_;
  Raw thread_{1024};
};

class PythonText : public Python {
 protected:
  template <std::size_t kMost = kMostName>
  static std::string text_of(const char* string) {
    Text<kMost> text;
    return text.read(string) ? text.c_str() : "none";
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, PythonText, testing::Values(9, 12));

TEST_P(PythonText, CharactersOfEachWidthBecomeUtf8) {
  EXPECT_EQ(text_of(string_of("plain").at()), "plain");
  EXPECT_EQ(text_of(string_of("").at()), "");
  EXPECT_EQ(text_of(string_of("caf\xe9", 1, false).at()), "caf\u00e9");
  const char16_t two[] = {u'a', u'\u00e9', u'\u20ac'};
  EXPECT_EQ(text_of(string_of({reinterpret_cast<const char*>(two), sizeof two}, 2, false).at()),
            "a\u00e9\u20ac");
  const char32_t four[] = {U'a', U'\u00e9', U'\u20ac', U'\U0001f600'};
  EXPECT_EQ(text_of(string_of({reinterpret_cast<const char*>(four), sizeof four}, 4, false).at()),
            "a\u00e9\u20ac\U0001f600");
}

TEST_P(PythonText, BytesOfAPathThatIsNotUtf8AreThemselves) {
  const char16_t path[] = {u'/', u'c', 0xdc80, 0xdce9, 0xdcff, u'\u20ac'};
  EXPECT_EQ(text_of(string_of({reinterpret_cast<const char*>(path), sizeof path}, 2, false).at()),
            "/c\x80\xe9\xff\u20ac");
  const char16_t others[] = {0xdc7f, 0xdd00};
  EXPECT_EQ(
      text_of(string_of({reinterpret_cast<const char*>(others), sizeof others}, 2, false).at()),
      "\xed\xb1\xbf\xed\xb4\x80");
}

TEST_P(PythonText, LongStringsAreCut) {
  EXPECT_EQ(text_of(string_of(std::string(1000, 'x')).at()), std::string(255, 'x'));
  EXPECT_EQ(text_of(string_of(std::string(1000, 'x'), 1, false).at()), std::string(63, 'x'));
}

TEST_P(PythonText, OtherObjectsAreNoStrings) {
  const Edge edge;
  EXPECT_EQ(text_of(nullptr), "none");
  EXPECT_EQ(text_of(edge.unreadable()), "none");
  EXPECT_EQ(text_of(string_of("x").put(kTypeOf, code_type).at()), "none");
  EXPECT_EQ(text_of(string_of("x", 1, true, false).at()), "none") << "not compact";
  EXPECT_EQ(text_of(string_of("xxxx", 3).at()), "none");
}

TEST_P(PythonText, CharactersThatCannotBeReadAreNoString) {
  const Edge edge;
  for (const bool is_ascii : {true, false}) {
    Raw string = string_of(std::string(200, 'x'), 1, is_ascii);
    EXPECT_EQ(text_of(edge.first_bytes_of(string.at(), 100)), "none");
  }
}

TEST_P(PythonText, TheHashTellsLengthsAndTextsApart) {
  const auto hash_of = [](const std::string& of) {
    Text<kMostName> text;
    Raw string = string_of(of);
    EXPECT_TRUE(text.read(string.at()));
    return text.hash(1);
  };
  EXPECT_EQ(hash_of("one"), hash_of("one"));
  EXPECT_NE(hash_of("one"), hash_of("two"));
  EXPECT_NE(hash_of("12345678"), hash_of(std::string("12345678\0", 9)));
}

class PythonCode : public Python {};
INSTANTIATE_TEST_SUITE_P(Versions, PythonCode, testing::Values(9, 10, 11, 12, 13));

TEST_P(PythonCode, IsKnownByNameFileAndLine) {
  Code code("/s.py", "f", 12), again("/s.py", "f", 12), other("/s.py", "f", 13);
  const fbleprof_block block = block_of_code(code.object());
  ASSERT_NE(block, 0u);
  EXPECT_EQ(recorder_.blocks[0].name, "f");
  EXPECT_EQ(recorder_.blocks[0].file, "/s.py");
  EXPECT_EQ(recorder_.blocks[0].line, 12u);
  EXPECT_EQ(block_of_code(again.object()), block);
  EXPECT_NE(block_of_code(other.object()), block);
}

TEST_P(PythonCode, ShortNamesOnDifferentLinesAreDifferentFunctions) {
  std::set<fbleprof_block> blocks;
  for (const char* name : {"f", "g", "get", "set", "get_a", "set_a"}) {
    for (int line = 1; line <= 64; ++line) {
      Code code("/s.py", name, line);
      blocks.insert(block_of_code(code.object()));
    }
  }
  EXPECT_EQ(blocks.size(), 6u * 64);
}

TEST_P(PythonCode, ThatIsDamagedHasNoBlock) {
  const Edge edge;
  Code code("/s.py", "f", 12);
  EXPECT_EQ(block_of_code(nullptr), 0u);
  EXPECT_EQ(block_of_code(edge.unreadable()), 0u);
  code.raw().put(kTypeOf, string_type);
  EXPECT_EQ(block_of_code(code.object()), 0u);
  code.raw().put(kTypeOf, code_type);
  for (const int field : {layout->name, layout->file}) {
    const auto offset = static_cast<std::size_t>(field);
    const auto before = code.raw().get<char*>(offset);
    code.raw().put(offset, edge.unreadable());
    EXPECT_EQ(block_of_code(code.object()), 0u);
    code.raw().put(offset, before);
  }
  EXPECT_NE(block_of_code(code.object()), 0u);
}

// -- Samples --

// The frames of a thread, as its version links them.
class PythonFrames : public Python {
 protected:
  static std::size_t of(int offset) { return static_cast<std::size_t>(offset); }

  Raw& new_frame(const void* code, bool is_entry) {
    frames_.push_back(std::make_unique<Raw>(72));
    Raw& frame = *frames_.back();
    frame.put(of(layout->code), code);
    if (layout->entry >= 0) {
      frame.put(of(layout->entry), static_cast<std::uint8_t>(is_entry ? layout->entry_value : 0));
    }
    return frame;
  }
  // An invocation of the loop that runs these functions, oldest first.
  void run(const std::vector<Code*>& codes) {
    char* outer_frame = newest_;
    if (layout->has_cframes) {
      cframes_.push_back(std::make_unique<Raw>(32));
      outer_frame = nullptr;
    }
    char* frame = outer_frame;
    if (layout->is_entry_extra) frame = push(frame, nullptr, true);
    bool is_first = !layout->is_entry_extra;
    for (Code* code : codes) {
      frame = push(frame, code->object(), is_first);
      is_first = false;
    }
    newest_ = frame;
    if (layout->has_cframes) {
      Raw& cframe = *cframes_.back();
      cframe.put(of(layout->newest), frame).put(of(layout->outer), newest_cframe_);
      newest_cframe_ = cframe.at();
      thread_.put(of(layout->thread_frames), newest_cframe_);
    } else {
      thread_.put(of(layout->thread_frames), frame);
    }
  }
  char* push(char* caller, const void* code, bool is_entry) {
    Raw& frame = new_frame(code, is_entry);
    frame.put(of(layout->caller), caller);
    return frame.at();
  }

  // "newest older ...", "|" where the mark changes.
  std::string read() {
    alignas(8) char reading[128] = {};
    std::string all;
    std::uint64_t mark = 0;
    for (int i = 0; i < 100; ++i) {
      fbleprof_frame frame{};
      if (read_frame(reading, &frame) == 0) return all;
      if (!all.empty()) all += frame.mark != mark ? " | " : " ";
      mark = frame.mark;
      all += recorder_.name_of(frame.block);
      EXPECT_NE(frame.place[0], frame.place[1]);
      EXPECT_EQ(std::memcmp(reinterpret_cast<void*>(frame.place[0]), &frame.value[0], 8), 0);
    }
    return all + "...";
  }
  bool has_marks() const { return layout->has_cframes || layout->is_entry_extra; }

  Code f_{"/s.py", "f", 1}, g_{"/s.py", "g", 5}, h_{"/s.py", "h", 9};
  std::vector<std::unique_ptr<Raw>> frames_, cframes_;
  char *newest_ = nullptr, *newest_cframe_ = nullptr;
};
INSTANTIATE_TEST_SUITE_P(Versions, PythonFrames, testing::Values(9, 10, 11, 12, 13));

TEST_P(PythonFrames, AreReadNewestFirst) {
  run({&f_, &g_});
  run({&h_});
  EXPECT_EQ(read(), has_marks() ? "h | g f" : "h g f");
}

TEST_P(PythonFrames, RecursionIsRead) {
  run({&f_, &f_, &f_, &g_, &f_});
  EXPECT_EQ(read(), "f g f f f");
}

TEST_P(PythonFrames, OfRunningThreadsTellWhetherTheTableIsRight) {
  ASSERT_TRUE(find_thread_functions());
  EXPECT_TRUE(is_running_code_known()) << "no thread";
  Raw idle(1024);
  idle.put(kThreadNext, thread_.at());
  library_.python.first_thread = idle.at();
  EXPECT_TRUE(is_running_code_known()) << "nothing runs";
  run({&f_, &g_});
  EXPECT_TRUE(is_running_code_known());
  g_.raw().put(kTypeOf, string_type);
  EXPECT_TRUE(is_running_code_known()) << "an older frame is as it should be";
  f_.raw().put(kTypeOf, string_type);
  EXPECT_FALSE(is_running_code_known());
}

TEST_P(PythonFrames, WithoutAThreadStateThereAreNone) {
  run({&f_});
  library_.python.thread = nullptr;
  EXPECT_EQ(read(), "");
  const Edge edge;
  library_.python.thread = edge.unreadable();
  EXPECT_EQ(read(), "");
}

TEST_P(PythonFrames, AFrameThatCannotBeReadIsTheLast) {
  const Edge edge;
  run({&f_});
  std::memcpy(newest_ + layout->caller, std::array<char*, 1>{edge.unreadable()}.data(), 8);
  if (layout->entry >= 0) newest_[layout->entry] = 0;
  EXPECT_EQ(read(), "f");
  thread_.put(of(layout->thread_frames), edge.unreadable());
  EXPECT_EQ(read(), "");
}

TEST_P(PythonFrames, AFrameWithoutCodeIsTheLastOfItsList) {
  run({&f_});
  if (layout->is_entry_extra) newest_ = push(newest_, thread_.at(), false);
  run({&g_});
  std::string expected = has_marks() ? "g | f" : "g f";
  if (layout->is_entry_extra && !layout->has_cframes) expected = "g";
  EXPECT_EQ(read(), expected);
  frames_.back()->put(of(layout->code), thread_.at());
  EXPECT_EQ(read(), layout->has_cframes ? "f" : "");
}

TEST_P(PythonFrames, AListThatLeadsBackToItselfEnds) {
  run({&f_, &g_});
  for (auto& frame : frames_) {
    frame->put(of(layout->caller), newest_);
    if (layout->entry >= 0) frame->put(of(layout->entry), std::uint8_t{0});
  }
  alignas(8) char reading[128] = {};
  fbleprof_frame frame{};
  int count = 0;
  while (count < 100 && read_frame(reading, &frame) != 0) ++count;
  EXPECT_LT(count, 10);
}

// The versions that list the loop's invocations.
class PythonInvocations : public PythonFrames {};
INSTANTIATE_TEST_SUITE_P(Versions, PythonInvocations, testing::Values(11, 12));

TEST_P(PythonInvocations, InvocationsThatLeadBackToThemselvesEnd) {
  run({&f_});
  run({&g_});
  cframes_.front()->put(of(layout->outer), newest_cframe_);
  alignas(8) char reading[128] = {};
  fbleprof_frame frame{};
  int count = 0;
  while (count < 100 && read_frame(reading, &frame) != 0) ++count;
  EXPECT_LT(count, 10);
}

TEST_P(PythonInvocations, AnInvocationThatCannotBeReadIsTheLast) {
  const Edge edge;
  run({&f_});
  run({&g_});
  cframes_.back()->put(of(layout->outer), edge.unreadable());
  EXPECT_EQ(read(), "g");
}

// -- Counting --

constexpr int kCall = 0, kException = 1, kReturn = 3, kCCall = 4, kCException = 5, kCReturn = 6;
using Profiler = int (*)(void* object, void* frame, int what, void* argument);

std::string programs_events;
int programs_profiler(void*, void*, int what, void*) {
  programs_events += std::to_string(what) + " ";
  return 0;
}

// Only in a process of its own: counting does not end.
// sys.setprofile of the interpreter: sets the function and its object in the thread.
Raw* thread_of_setprofile;
int profiler_offset;
void* set_profile(void*, void* function) {
  thread_of_setprofile->put(static_cast<std::size_t>(profiler_offset),
                            function ? programs_profiler : nullptr);
  thread_of_setprofile->put(static_cast<std::size_t>(profiler_offset) + 16, function);
  return function;
}

class PythonExact : public PythonFrames {
 protected:
  Profiler profiler_of(Raw& thread) { return thread.get<Profiler>(of(layout->profiler)); }
  // The frame object that profile functions get.
  char* frame_object(Code& code) {
    frames_.push_back(std::make_unique<Raw>(72));
    Raw& object = *frames_.back();
    if (layout->minor < 11) return object.put(32, code.object()).at();
    Raw& frame = new_frame(code.object(), false);
    Raw& made = *frames_[frames_.size() - 2];
    return made.put(24, frame.at()).at();
  }
  // The ways to say that a thread's events are wanted need memory, by the version.
  void prepare(Raw& thread) {
    if (layout->minor == 10) thread.put(48, tracing_.at());
    if (layout->minor == 11) thread.put(of(layout->thread_frames), tracing_.at());
  }
  bool begin() {
    prepare(thread_);
    library_.python.first_thread = thread_.at();
    library_.python.profiler = layout->profiler;
    if (!start_exact()) return false;
    profiler_ = profiler_of(thread_);
    return profiler_ != nullptr;
  }
  void event(int what, char* frame, void* argument = nullptr, void* object = nullptr) {
    Profiler now = profiler_of(thread_);
    if (!now || now == programs_profiler) now = profiler_;
    now(object, frame, what, argument);
  }
  // Whether the thread has ours, and the program's behind it.
  bool is_before_programs(Raw& thread) {
    Profiler now = profiler_of(thread);
    return now && now != profiler_ && now != programs_profiler;
  }

  // A function of C: its definition, and the object.
  struct CFunction {
    CFunction(const char* name, const void* self, const void* module) {
      method.put(0, name);
      object.put(16, method.at()).put(24, self).put(32, module);
    }
    Raw method, object;
  };
  // Makes `set` the interpreter's sys.setprofile.
  void offer_setprofile(CFunction& set) {
    set.method.put(8, set_profile).put(16, 8);
    library_.python.setprofile = set.object.at();
    thread_of_setprofile = &thread_;
    profiler_offset = layout->profiler;
  }

  Raw tracing_, module_;
  Profiler profiler_ = nullptr;
};
INSTANTIATE_TEST_SUITE_P(Versions, PythonExact, testing::Values(9, 10, 11, 12, 13));

TEST_P(PythonExact, CallsAreEnteredAndLeft) {
  in_child([this] {
    ASSERT_TRUE(begin());
    EXPECT_TRUE(is_exact());
    char *const f = frame_object(f_), *const g = frame_object(g_);
    event(kCall, f);
    event(kCall, g);
    event(kException, g);
    event(kReturn, g);
    event(kCall, g);
    event(kReturn, g);
    event(kReturn, f);
    EXPECT_EQ(recorder_.take_events(), "enter f\nenter g\nleave g\nenter g\nleave g\nleave f\n");
    EXPECT_EQ(library_.python.extras.size(), 2u) << "the blocks are kept with the code";
    run({&f_});
    EXPECT_EQ(read(), "") << "samples do not read the frames, too";
  });
}

TEST_P(PythonExact, FunctionsOfCHaveTheirOwnersName) {
  in_child([this] {
    ASSERT_TRUE(begin());
    Raw module_name = string_of("math"), builtins = string_of("builtins");
    module_.put(kTypeOf, module_type);
    CFunction of_module("sqrt", module_.at(), module_name.at()),
        of_builtins("len", module_.at(), builtins.at()), alone("alone", nullptr, nullptr),
        odd("odd", nullptr, module_.at());
    // list.append of a list, dict.fromkeys of the type itself, and a method that no type has.
    Raw base(512), type(512), methods(4 * 32), instance, meta(512);
    base.put(24, "list").put(232, methods.at());
    type.put(24, "Sub").put(256, base.at());
    instance.put(kTypeOf, type.at());
    meta.put(24, "type").put(168, std::uint64_t{1} << 31);
    base.put(kTypeOf, meta.at());
    CFunction of_instance("append", instance.at(), nullptr),
        unknown("other", instance.at(), nullptr);
    methods.put(0, "unlike").put(32, "append");
    of_instance.object.put(16, methods.at(32));
    CFunction of_type("append", base.at(), nullptr), of_meta("mro", base.at(), nullptr);
    of_type.object.put(16, methods.at(32));
    const auto name_of = [this](CFunction& function) {
      event(kCCall, nullptr, function.object.at());
      event(kCReturn, nullptr, function.object.at());
      const std::string events = recorder_.take_events();
      const std::string name = events.substr(6, events.find('\n') - 6);
      EXPECT_EQ(events, "enter " + name + "\nleave " + name + "\n");
      return name;
    };
    EXPECT_EQ(name_of(of_module), "math.sqrt");
    EXPECT_EQ(name_of(of_module), "math.sqrt");
    EXPECT_EQ(name_of(of_builtins), "len");
    EXPECT_EQ(name_of(alone), "alone");
    EXPECT_EQ(name_of(odd), "odd");
    Raw unfinished = string_of("math", 1, true, false);
    CFunction of_unfinished("early", nullptr, unfinished.at());
    EXPECT_EQ(name_of(of_unfinished), "early");
    EXPECT_EQ(name_of(unknown), "Sub.other");
    EXPECT_EQ(name_of(of_instance), "list.append");
    EXPECT_EQ(name_of(of_type), "list.append");
    EXPECT_EQ(name_of(of_meta), "type.mro");
    // A library was unloaded, and another one has its function there.
    of_module.method.put(0, "cbrt");
    EXPECT_EQ(name_of(of_module), "math.cbrt");
    const std::string long_name(600, 'l');
    CFunction very_long(long_name.c_str(), nullptr, nullptr);
    EXPECT_EQ(name_of(very_long), long_name.substr(0, 511));
  });
}

TEST_P(PythonExact, ThousandsOfFunctionsOfCAreKnown) {
  in_child([this] {
    ASSERT_TRUE(begin());
    std::vector<std::unique_ptr<CFunction>> functions;
    for (int i = 0; i < 1000; ++i) {
      functions.push_back(std::make_unique<CFunction>("f", nullptr, nullptr));
    }
    for (int round = 0; round < 2; ++round) {
      for (auto& function : functions) event(kCCall, nullptr, function->object.at());
    }
    EXPECT_EQ(recorder_.blocks.size(), 1000u);
  });
}

TEST_P(PythonExact, WithoutMemoryFurtherFunctionsOfCAreNotShown) {
  in_child([this] {
    ASSERT_TRUE(begin());
    std::vector<std::unique_ptr<CFunction>> functions;
    for (int i = 0; i < 200; ++i) {
      functions.push_back(std::make_unique<CFunction>("f", nullptr, nullptr));
    }
    for (int i = 0; i < 127; ++i) event(kCCall, nullptr, functions[i]->object.at());
    recorder_.events.reserve(1000);
    recorder_.take_events();
    {
      const test::NoMemoryLeft shortage;
      event(kCCall, nullptr, functions[127]->object.at());
      event(kCCall, nullptr, functions[0]->object.at());
    }
    EXPECT_EQ(recorder_.take_events(), "enter none\nenter f\n");
    event(kCCall, nullptr, functions[127]->object.at());
    EXPECT_EQ(recorder_.take_events(), "enter f\n") << "with memory again";
  });
}

TEST_P(PythonExact, WithoutAnIndexNothingIsCounted) {
  in_child([this] {
    library_.python.extra_index = -1;
    EXPECT_FALSE(begin());
    EXPECT_FALSE(is_exact());
  });
}

// The versions where each thread has a profile function of its own.
class PythonExactByThread : public PythonExact {};
INSTANTIATE_TEST_SUITE_P(Versions, PythonExactByThread, testing::Values(9, 10, 11));

TEST_P(PythonExactByThread, AThreadThatCallsStartIsFoundAtItsReturn) {
  in_child([this] {
    ASSERT_TRUE(begin());
    Raw second(1024);
    prepare(second);
    thread_.put(8, second.at());
    CFunction other("start", nullptr, nullptr), starts("start_new_thread", nullptr, nullptr),
        joinable("start_joinable_thread", nullptr, nullptr);
    event(kCException, nullptr, other.object.at());
    EXPECT_EQ(profiler_of(second), nullptr);
    event(kCReturn, nullptr, starts.object.at());
    EXPECT_EQ(profiler_of(second), profiler_);
    second.put<void*>(of(layout->profiler), nullptr);
    event(kCReturn, nullptr, joinable.object.at());
    EXPECT_EQ(profiler_of(second), profiler_);
    EXPECT_TRUE(layout->minor == 9 ? second.get<int>(48) == 1
                                   : tracing_.get<std::uint8_t>(0) == 255)
        << "its events are wanted";
  });
}

TEST_P(PythonExactByThread, AThreadsOwnProfileFunctionStaysWhereItIsNotRunning) {
  in_child([this] {
    Raw second(1024), third(1024);
    prepare(second);
    prepare(third);
    thread_.put(8, second.at());
    second.put(8, third.at()).put(of(layout->profiler), programs_profiler);
    third.put(of(layout->tracing), 1);
    ASSERT_TRUE(begin());
    EXPECT_EQ(profiler_of(second), programs_profiler) << "its own sample will find it";
    EXPECT_EQ(profiler_of(third), nullptr) << "a profile function of it is running";
  });
}

TEST_P(PythonExact, ASampleClaimsItsThread) {
  in_child([this] {
    ASSERT_TRUE(begin());
    if (layout->tracing >= 0) thread_.put(of(layout->profiler), programs_profiler);
    EXPECT_EQ(read(), "");
    if (layout->tracing < 0) return;
    EXPECT_TRUE(is_before_programs(thread_));
    read();
    EXPECT_TRUE(is_before_programs(thread_));
    programs_events.clear();
    event(kCall, frame_object(f_), nullptr, this);
    EXPECT_EQ(programs_events, "0 ") << "the program's own function hears of it";
    event(kReturn, frame_object(f_), nullptr, nullptr);
    EXPECT_EQ(programs_events, "0 3 ") << "it needs no object";
    EXPECT_EQ(recorder_.take_events(), "enter f\nleave f\n");
    thread_.put<void*>(of(layout->profiler), nullptr);
    read();
    EXPECT_EQ(profiler_of(thread_), profiler_);
    event(kCall, frame_object(f_), nullptr, this);
    EXPECT_EQ(programs_events, "0 3 ");
    library_.python.thread = nullptr;
    EXPECT_EQ(read(), "");
  });
}

TEST_P(PythonExact, TheProgramsSetprofileWorksAsBefore) {
  in_child([this] {
    CFunction set("setprofile", nullptr, nullptr);
    offer_setprofile(set);
    ASSERT_TRUE(begin());
    auto* ours = set.method.get<void* (*)(void*, void*)>(8);
    EXPECT_NE(ours, set_profile);
    programs_events.clear();
    EXPECT_EQ(ours(nullptr, this), this);
    EXPECT_TRUE(is_before_programs(thread_));
    event(kCReturn, nullptr, set.object.at(), this);
    EXPECT_EQ(programs_events, "") << "it would not have heard of the call that set it";
    event(kCReturn, nullptr, set.object.at(), this);
    EXPECT_EQ(programs_events, "6 ");
    EXPECT_EQ(ours(nullptr, this), this) << "set again";
    event(kCReturn, nullptr, set.object.at(), this);
    EXPECT_EQ(programs_events, "6 6 ");
    EXPECT_EQ(ours(nullptr, nullptr), nullptr);
    EXPECT_EQ(profiler_of(thread_), profiler_);
    event(kCall, frame_object(f_), nullptr, this);
    EXPECT_EQ(programs_events, "6 6 ") << "none is set any more";
    library_.python.thread = nullptr;
    EXPECT_EQ(ours(nullptr, this), this);
  });
}

TEST_P(PythonExact, TheEventAfterSetprofileIsHiddenOnlyIfItIsItsReturn) {
  in_child([this] {
    CFunction set("setprofile", nullptr, nullptr), other("other", nullptr, nullptr);
    offer_setprofile(set);
    ASSERT_TRUE(begin());
    auto* ours = set.method.get<void* (*)(void*, void*)>(8);
    for (const auto& [what, argument, heard] :
         {std::tuple{kCException, set.object.at(), ""},
          std::tuple{kCReturn, other.object.at(), "6 "},
          std::tuple{kCall, static_cast<char*>(nullptr), "0 "}}) {
      ours(nullptr, nullptr);
      ours(nullptr, this);
      programs_events.clear();
      event(what, frame_object(f_), argument, this);
      EXPECT_EQ(programs_events, heard);
    }
  });
}

// Since 3.12, functions are set in all threads at once.
class PythonExactAllAtOnce : public PythonExact {
 protected:
  void set_in(Raw& thread, Profiler function, void* object) {
    thread.put(of(layout->profiler), function).put(of(layout->profiler) + 16, object);
  }
  void* object_of(Raw& thread) { return thread.get<void*>(of(layout->profiler) + 16); }
};
INSTANTIATE_TEST_SUITE_P(Versions, PythonExactAllAtOnce, testing::Values(12, 13));

TEST_P(PythonExactAllAtOnce, AThreadsOwnProfileFunctionStaysWhenAnotherStarts) {
  in_child([this] {
    Raw second(1024), third(1024), fourth(1024);
    thread_.put(8, second.at());
    second.put(8, third.at());
    third.put(8, fourth.at());
    set_in(second, programs_profiler, this);
    set_in(fourth, programs_profiler, nullptr);
    ASSERT_TRUE(begin());
    EXPECT_EQ(profiler_of(second), programs_profiler);
    EXPECT_EQ(object_of(second), this);
    EXPECT_EQ(library_.python.kept, 1) << "for the reference that was dropped";
    EXPECT_EQ(profiler_of(third), profiler_);
    EXPECT_EQ(profiler_of(fourth), programs_profiler);
    set_in(third, nullptr, nullptr);
    set_in(thread_, programs_profiler, this);
    CFunction starts("start_new_thread", nullptr, nullptr);
    event(kCReturn, nullptr, starts.object.at());
    EXPECT_EQ(profiler_of(third), profiler_);
    EXPECT_EQ(profiler_of(thread_), programs_profiler);
    EXPECT_EQ(object_of(thread_), this);
    library_.python.profiles_all_threads = nullptr;
    event(kCReturn, nullptr, starts.object.at());
    EXPECT_EQ(library_.python.profiles_all_threads, nullptr) << "each has one";
  });
}

TEST_P(PythonExactAllAtOnce, TheReturnFromSetprofileIsHeardIfAnotherThreadMakesAllReport) {
  in_child([this] {
    CFunction set("setprofile", nullptr, nullptr);
    offer_setprofile(set);
    Raw second(1024);
    thread_.put(8, second.at());
    ASSERT_TRUE(begin());
    auto* ours = set.method.get<void* (*)(void*, void*)>(8);
    set_in(second, programs_profiler, this);
    ours(nullptr, nullptr);
    ours(nullptr, this);
    programs_events.clear();
    event(kCReturn, nullptr, set.object.at(), this);
    EXPECT_EQ(programs_events, "6 ");
  });
}

TEST_P(PythonExactByThread, AnOddSetprofileIsLeftAlone) {
  for (int oddity = 0; oddity < 3; ++oddity) {
    in_child([this, oddity] {
      CFunction set(oddity == 0 ? "settrace" : "setprofile", nullptr, nullptr);
      set.method.put(8, set_profile).put(16, oddity == 1 ? 4 : 8);
      if (oddity == 2) set.object.put(16, Address{nullptr});
      library_.python.setprofile = set.object.at();
      ASSERT_TRUE(begin());
      EXPECT_EQ((set.method.get<void* (*)(void*, void*)>(8)), set_profile);
    });
  }
}

}  // namespace
}  // namespace fbleprof::adapters::python
