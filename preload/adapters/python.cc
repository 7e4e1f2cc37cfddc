// CPython 3.9 to 3.13: the functions of scripts, by file and line, and the C functions they call.
//
// Sampled (the default): at a sample the handler reads the thread's own list of frames, from its
// thread state. Nothing is installed in the interpreter, which runs as without us. A frame of 3.11
// and later belongs to the invocation of the loop whose variables hold its mark: the thread state's
// cframe (3.11, 3.12) or the entry frame (3.13). Up to 3.10 each invocation runs one function.
//
// Exact (--exact): a profile function for all threads enters and leaves a block for each call. The
// block's number is kept with the code object. Where the program sets a profile function of its
// own, ours calls it.
//
// Nothing here is linked with Python: its functions are looked up by name, and the structures by
// the table below, which check_layout compares with a live object.
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "adapters/recorder.h"

namespace {

using Address = const char*;

// Where the interpreter keeps what we read: bytes into its structures.
struct Layout {
  int minor;                  // Python 3.minor
  int thread_frames;          // thread state: its newest frame or, if has_cframes, its cframe
  bool has_cframes;           // then a frame is entered by each invocation of the loop:
  int newest, outer;          // cframe: its newest frame, and the cframe around it
  int code, caller;           // frame
  int entry, entry_value;     // frame: the byte that tells where the loop was entered; -1: all are
  bool is_entry_extra;        // then that frame is no function, but stands below the first one
  int line, file, name;       // code object
  int ascii, wide;            // string: its characters
  int profiler, profiler_of;  // thread state: profile function, and its object
  int tracing;                // thread state: not 0 while a profile function runs; -1: 3.12's way
};
constexpr Layout kLayouts[] = {
    {9, 24, false, 0, 0, 32, 24, -1, 0, false, 40, 104, 112, 48, 72, 56, 72, 44},
    {10, 24, false, 0, 0, 32, 24, -1, 0, false, 40, 104, 112, 48, 72, 56, 72, 44},
    {11, 56, true, 8, 16, 32, 48, 68, 1, false, 72, 112, 128, 48, 72, 64, 80, 44},
    {12, 56, true, 0, 8, 0, 8, 70, 3, true, 68, 112, 128, 40, 56, 64, 80, -1},
    {13, 72, false, 0, 0, 0, 8, 70, 3, true, 68, 112, 128, 40, 56, 80, 96, -1},
};
constexpr int kThreadNext = 8;     // thread state
constexpr int kUseTracing39 = 48;  // thread state of 3.9; later versions: the cframe's byte 0
constexpr int kCframe = 48;        // thread state of 3.10
constexpr int kTypeOf = 8;         // any object
constexpr int kLength = 16, kTextState = 32;           // string
constexpr int kFrameOfObject = 24;                     // frame object, 3.11 and later
constexpr int kCodeOfObject = 32;                      // frame object, up to 3.10
constexpr int kMethod = 16, kSelf = 24, kModule = 32;  // C function
constexpr int kTypeName = 24, kTypeFlags = 168, kTypeMethods = 232, kTypeBase = 256;
constexpr size_t kMethodBytes = 32;
constexpr uint64_t kIsType = 1ull << 31;

const Layout* layout = nullptr;
Address code_type = nullptr, string_type = nullptr, module_type = nullptr;

// The interpreter's functions.
struct Python {
  void* (*this_thread)();
  const char* (*version)();
  void* (*new_empty_code)(const char* file, const char* name, int line);
  void (*release)(void* object);
  void* loop;
  long (*request_extra)(void (*free)(void*));
  int (*get_extra)(void* code, long index, void** extra);
  int (*set_extra)(void* code, long index, void* extra);
  void* (*main_interpreter)();
  void* (*first_thread)(void* interpreter);
  void (*profile_all)(void* function, void* object);  // 3.12 and later
};
Python python;

template <typename T>
T at(Address object, int offset) {
  T value;
  memcpy(&value, object + offset, sizeof value);
  return value;
}

template <typename T>
void put(Address object, int offset, T value) {
  __atomic_store_n(reinterpret_cast<T*>(const_cast<char*>(object) + offset), value,
                   __ATOMIC_RELAXED);
}

bool peek(Address from, void* to, size_t bytes) { return from && fbleprof_peek(from, to, bytes); }

// -- Names --

constexpr size_t kMostName = 512, kMostFile = 1024;  // bytes; what is longer is cut

// A string of the interpreter's in UTF-8.
template <size_t kMost>
class Text {
 public:
  bool read(Address string) {
    char head[40];
    if (!peek(string, head, sizeof head) || at<Address>(head, kTypeOf) != string_type) return false;
    const auto state = at<uint32_t>(head, kTextState);
    const unsigned kind = state >> 2 & 7;  // bytes to a character
    const bool is_compact = state >> 5 & 1, is_ascii = state >> 6 & 1;
    uint64_t length = at<uint64_t>(head, kLength);
    if (!is_compact || (kind != 1 && kind != 2 && kind != 4)) return false;
    const uint64_t room = is_ascii ? kMost - 1 : (kMost - 1) / 4;
    if (length > room) length = room;
    Address characters = string + (is_ascii ? layout->ascii : layout->wide);
    if (is_ascii) {
      length_ = length;
      if (!peek(characters, bytes_, length)) return false;
    } else {
      uint32_t wide[(kMost - 1) / 4];
      if (!peek(characters, wide, length * kind)) return false;
      encode(reinterpret_cast<Address>(wide), kind, length);
    }
    bytes_[length_] = 0;
    return true;
  }
  uint64_t hash(uint64_t seed) const {
    for (size_t i = 0; i < length_; i += 8) {
      uint64_t word = 0;
      memcpy(&word, bytes_ + i, length_ - i < 8 ? length_ - i : 8);
      seed = (seed ^ word) * 0x9e3779b97f4a7c15u;
      seed ^= seed >> 32;
    }
    return seed + length_;
  }
  const char* c_str() const { return bytes_; }

 private:
  void add(uint32_t byte) { bytes_[length_++] = static_cast<char>(byte); }
  void encode(Address wide, unsigned kind, uint64_t count) {
    length_ = 0;
    for (uint64_t i = 0; i < count; ++i) {
      uint32_t c = 0;
      memcpy(&c, wide + i * kind, kind);
      if (c < 0x80) {
        add(c);
      } else if (c < 0x800) {
        add(0xc0 | c >> 6), add(0x80 | (c & 63));
      } else if (c < 0x10000) {
        add(0xe0 | c >> 12), add(0x80 | (c >> 6 & 63)), add(0x80 | (c & 63));
      } else {
        add(0xf0 | (c >> 18 & 7)), add(0x80 | (c >> 12 & 63));
        add(0x80 | (c >> 6 & 63)), add(0x80 | (c & 63));
      }
    }
  }

  char bytes_[kMost];
  size_t length_ = 0;
};

// The block of a code object; 0: it is none, or is in the middle of a change. Functions are known
// by name, file and line: code objects come and go, and another one may have the same address.
fbleprof_block block_of_code(Address code) {
  char head[136];
  if (!peek(code, head, sizeof head) || at<Address>(head, kTypeOf) != code_type) return 0;
  Text<kMostName> name;
  Text<kMostFile> file;
  if (!name.read(at<Address>(head, layout->name)) || !file.read(at<Address>(head, layout->file))) {
    return 0;
  }
  const auto line = at<uint32_t>(head, layout->line);
  const uint64_t key = file.hash(name.hash(line + 1)) >> 8 | 1;
  if (const fbleprof_block known = fbleprof_block_of_key(key)) return known;
  const fbleprof_source source = {name.c_str(), file.c_str(), line, 0, "Python"};
  return fbleprof_block_with_key(key, &source);
}

// -- Sampled: the reader, which runs in the signal handler --

void claim_this_thread();
bool is_exact = false;

// Tells when a list leads back to where it was: in the middle of a change it may. Compares with the
// places at powers of two.
struct Progress {
  uint32_t steps, next_noted;
  Address noted;

  bool may_go_on(Address at) {
    constexpr uint32_t kMost = 1 << 20;
    if (at == noted || steps++ > kMost) return false;
    if (steps > next_noted) {
      next_noted = steps * 2;
      noted = at;
    }
    return true;
  }
};

// How far the reader is.
struct Reading {
  bool has_begun;
  Address cframe, frame, mark;
  Address code;  // the last one, and its block
  fbleprof_block block;
  Progress frames, cframes;
};
constexpr int kFrameBytes = 72;

bool is_entry(Address frame) {
  return layout->entry >= 0 && at<uint8_t>(frame, layout->entry) == layout->entry_value;
}

// 3.13 keeps the mark at the end of the frames that it belongs to.
Address mark_of(Address frame) {
  char head[kFrameBytes];
  Progress frames{};
  while (frames.may_go_on(frame) && peek(frame, head, sizeof head)) {
    if (is_entry(head)) return frame;
    frame = at<Address>(head, layout->caller);
  }
  return nullptr;
}

bool begin(Reading& reading) {
  reading.has_begun = true;
  const auto thread = static_cast<Address>(python.this_thread());
  if (!thread) return false;
  Address& first = layout->has_cframes ? reading.cframe : reading.frame;
  if (!peek(thread + layout->thread_frames, &first, sizeof first)) return false;
  if (!layout->has_cframes && layout->is_entry_extra) reading.mark = mark_of(reading.frame);
  return true;
}

// The frames of the invocation of the loop around the last one.
bool next_cframe(Reading& reading) {
  char head[24];
  if (!layout->has_cframes || !reading.cframes.may_go_on(reading.cframe)) return false;
  if (!peek(reading.cframe, head, sizeof head)) return false;
  reading.mark = reading.cframe;
  reading.frame = at<Address>(head, layout->newest);
  reading.cframe = at<Address>(head, layout->outer);
  return true;
}

int read_frame(void* state, fbleprof_frame* out) {
  auto& reading = *static_cast<Reading*>(state);
  if (!reading.has_begun) {
    if (is_exact) claim_this_thread();
    if (is_exact || !begin(reading)) return 0;
  }
  char head[kFrameBytes];
  for (;;) {
    if (!peek(reading.frame, head, sizeof head)) {
      if (!next_cframe(reading)) return 0;
      continue;
    }
    if (!reading.frames.may_go_on(reading.frame)) return 0;
    const bool enters = is_entry(head);
    const bool is_extra = enters && layout->is_entry_extra;
    reading.frame = at<Address>(head, layout->caller);
    out->mark = reinterpret_cast<uint64_t>(reading.mark);
    if (enters && layout->has_cframes) reading.frame = nullptr;
    if (is_extra && !layout->has_cframes) reading.mark = mark_of(reading.frame);
    if (is_extra) continue;
    const auto code = at<Address>(head, layout->code);
    if (code != reading.code) {
      reading.block = block_of_code(code);
      reading.code = code;
    }
    if (reading.block != 0) {
      out->block = reading.block;
      return 1;
    }
    // What follows no frame is none either.
    reading.frame = nullptr;
  }
}
static_assert(sizeof(Reading) <= 128);

// -- Exact: the profile function --

enum { kCall = 0, kReturn = 3, kCCall = 4, kCException = 5, kCReturn = 6 };
using Profiler = int (*)(void* object, void* frame, int what, void* argument);

long extra_index = -1;
// The program's own profile function in this thread, if it has set one.
__thread Profiler programs_own = nullptr;

Address code_of(Address frame_object) {
  if (layout->minor < 11) return at<Address>(frame_object, kCodeOfObject);
  return at<Address>(at<Address>(frame_object, kFrameOfObject), layout->code);
}

fbleprof_block block_of_frame(Address frame_object) {
  const Address code = code_of(frame_object);
  void* extra = nullptr;
  python.get_extra(const_cast<char*>(code), extra_index, &extra);
  if (extra) return static_cast<fbleprof_block>(reinterpret_cast<uintptr_t>(extra));
  const fbleprof_block block = block_of_code(code);
  python.set_extra(const_cast<char*>(code), extra_index, reinterpret_cast<void*>(uintptr_t{block}));
  return block;
}

// The C functions that were called, by their definitions. The interpreter's lock is held.
struct CFunction {
  Address method, name;
  fbleprof_block block;
  bool starts_thread;
};
class CFunctions {
 public:
  const CFunction& of(Address function) {
    const auto method = at<Address>(function, kMethod);
    CFunction& found = *place(items_, mask_, method);
    if (found.method == method && found.name == at<Address>(method, 0)) return found;
    return add(found, method, function);
  }

 private:
  static CFunction* place(CFunction* items, uint64_t mask, Address method) {
    uint64_t i = (reinterpret_cast<uintptr_t>(method) >> 4) * 0x9e3779b97f4a7c15u >> 32;
    while (items[i & mask].method && items[i & mask].method != method) ++i;
    return &items[i & mask];
  }
  const CFunction& add(CFunction& found, Address method, Address function);
  bool grow();

  CFunction first_[256] = {};
  CFunction* items_ = first_;
  uint64_t mask_ = 255, count_ = 0;
};
constinit CFunctions c_functions;

bool CFunctions::grow() {
  const uint64_t mask = mask_ * 2 + 1;
  auto* items = static_cast<CFunction*>(calloc(mask + 1, sizeof(CFunction)));
  if (!items) return false;
  for (uint64_t i = 0; i <= mask_; ++i) {
    if (items_[i].method) *place(items, mask, items_[i].method) = items_[i];
  }
  if (items_ != first_) free(items_);
  items_ = items;
  mask_ = mask;
  return true;
}

// The type that defines the method: a base of the object's, mostly.
Address defining_type(Address type, Address method) {
  for (; type; type = at<Address>(type, kTypeBase)) {
    for (Address one = at<Address>(type, kTypeMethods); one && at<Address>(one, 0);
         one += kMethodBytes) {
      if (one == method) return type;
    }
  }
  return nullptr;
}

// "module", "type", or nothing.
void add_owner(Address function, Address method, Text<kMostName>& text, const char*& owner) {
  const auto self = at<Address>(function, kSelf), module = at<Address>(function, kModule);
  if (!self || at<Address>(self, kTypeOf) == module_type) {
    if (module && at<Address>(module, kTypeOf) == string_type && text.read(module)) {
      owner = text.c_str();
    }
    return;
  }
  const auto type = at<Address>(self, kTypeOf);
  const bool is_type = at<uint64_t>(type, kTypeFlags) & kIsType;
  Address definer = is_type ? defining_type(self, method) : nullptr;
  if (!definer) definer = defining_type(type, method);
  owner = at<Address>(definer ? definer : type, kTypeName);
}

const CFunction& CFunctions::add(CFunction& found, Address method, Address function) {
  static CFunction none;
  const bool is_new = !found.method;
  if (is_new && count_ >= mask_ / 2 && !grow()) return none;
  CFunction& item = *place(items_, mask_, method);
  const auto name = at<Address>(method, 0);
  Text<kMostName> text;
  const char* owner = nullptr;
  add_owner(function, method, text, owner);
  char full[2 * kMostName];
  size_t length = 0;
  const bool is_owned = owner && strcmp(owner, "builtins") != 0;
  const char* const parts[] = {is_owned ? owner : "", is_owned ? "." : "", name};
  for (const char* part : parts) {
    for (; *part && length + 1 < sizeof full; ++part) full[length++] = *part;
  }
  full[length] = 0;
  const bool starts =
      strcmp(name, "start_new_thread") == 0 || strcmp(name, "start_joinable_thread") == 0;
  const fbleprof_source source = {full, nullptr, 0, 0, "C"};
  if (is_new) ++count_;
  item = {method, name, fbleprof_block_add(0, &source), starts};
  return item;
}

int profile(void* object, void* frame, int what, void* argument);
constexpr Profiler kOurs = profile;

void set_tracing(Address thread) {
  if (layout->minor == 9) return put<int>(thread, kUseTracing39, 1);
  const auto cframe = at<Address>(thread, layout->minor == 10 ? kCframe : layout->thread_frames);
  if (layout->minor == 10) return put<int>(cframe, 0, 255);
  put<uint8_t>(cframe, 0, 255);
}

// Puts our profile function into a thread that has none, or before the program's own. The program
// sees no difference: it asks for the function's object.
void claim(Address thread, bool is_this) {
  const auto now = at<Profiler>(thread, layout->profiler);
  if (now == kOurs) return;
  if (!now) {
    if (at<int>(thread, layout->tracing) != 0) return;
    if (is_this) programs_own = nullptr;
    put(thread, layout->profiler, kOurs);
    return set_tracing(thread);
  }
  if (!is_this) return;
  programs_own = now;
  put(thread, layout->profiler, kOurs);
}

// At a sample: threads that C code started, and those where the program has set another function.
void claim_this_thread() {
  if (layout->tracing < 0) return;
  if (const auto thread = static_cast<Address>(python.this_thread())) claim(thread, true);
}

void claim_all_threads() {
  if (layout->tracing < 0) return python.profile_all(reinterpret_cast<void*>(kOurs), nullptr);
  auto thread = static_cast<Address>(python.first_thread(python.main_interpreter()));
  for (; thread; thread = at<Address>(thread, kThreadNext)) claim(thread, false);
}

// The program's own function, if it is the one whose object the interpreter has.
int call_programs_own(void* object, void* frame, int what, void* argument) {
  return object && programs_own ? programs_own(object, frame, what, argument) : 0;
}

int profile(void* object, void* frame, int what, void* argument) {
  switch (what) {
    case kCall:
      fbleprof_enter(block_of_frame(static_cast<Address>(frame)));
      break;
    case kReturn:
      fbleprof_leave(block_of_frame(static_cast<Address>(frame)));
      break;
    case kCCall:
      fbleprof_enter(c_functions.of(static_cast<Address>(argument)).block);
      break;
    case kCReturn:
    case kCException: {
      const CFunction& called = c_functions.of(static_cast<Address>(argument));
      fbleprof_leave(called.block);
      // The new thread waits for the lock that we hold.
      if (called.starts_thread) claim_all_threads();
      break;
    }
    default:
      break;
  }
  return object ? call_programs_own(object, frame, what, argument) : 0;
}

// -- Start --

template <typename T>
bool find(void* handle, const char* name, T& to) {
  void* found = dlsym(handle, name);
  to = reinterpret_cast<T>(found);
  return found != nullptr;
}

bool find_functions(void* handle) {
  void* code = nullptr;
  void* string = nullptr;
  void* module = nullptr;
  const bool found = find(handle, "PyGILState_GetThisThreadState", python.this_thread) &&
                     find(handle, "Py_GetVersion", python.version) &&
                     find(handle, "PyCode_NewEmpty", python.new_empty_code) &&
                     find(handle, "Py_DecRef", python.release) &&
                     find(handle, "_PyEval_EvalFrameDefault", python.loop) &&
                     find(handle, "PyCode_Type", code) && find(handle, "PyUnicode_Type", string) &&
                     find(handle, "PyModule_Type", module);
  code_type = static_cast<Address>(code);
  string_type = static_cast<Address>(string);
  module_type = static_cast<Address>(module);
  return found;
}

bool find_exact_functions(void* handle) {
  const auto either = [handle](const char* name, const char* older, auto& to) {
    return find(handle, name, to) || find(handle, older, to);
  };
  return either("PyUnstable_Eval_RequestCodeExtraIndex", "_PyEval_RequestCodeExtraIndex",
                python.request_extra) &&
         either("PyUnstable_Code_GetExtra", "_PyCode_GetExtra", python.get_extra) &&
         either("PyUnstable_Code_SetExtra", "_PyCode_SetExtra", python.set_extra) &&
         find(handle, "PyInterpreterState_Main", python.main_interpreter) &&
         find(handle, "PyInterpreterState_ThreadHead", python.first_thread) &&
         (layout->tracing >= 0 || find(handle, "PyEval_SetProfileAllThreads", python.profile_all));
}

// Whether a code object is what the table says: builds for debugging differ.
bool check_layout() {
  constexpr int kLine = 4711;
  void* code = python.new_empty_code("fbleprof.py", "fbleprof_name", kLine);
  if (!code) return false;
  const auto object = static_cast<Address>(code);
  Text<kMostName> name, file;
  const bool is_as_expected =
      at<Address>(object, kTypeOf) == code_type && at<int>(object, layout->line) == kLine &&
      name.read(at<Address>(object, layout->name)) &&
      file.read(at<Address>(object, layout->file)) && strcmp(name.c_str(), "fbleprof_name") == 0 &&
      strcmp(file.c_str(), "fbleprof.py") == 0;
  python.release(code);
  return is_as_expected;
}

const Layout* layout_of(const char* version) {
  if (strncmp(version, "3.", 2) != 0) return nullptr;
  const int minor = atoi(version + 2);
  for (const Layout& one : kLayouts) {
    if (one.minor == minor) return &one;
  }
  return nullptr;
}

}  // namespace

// The recorder calls this once the interpreter is up, in a thread that holds its lock. `runtime` is
// its variable _PyRuntime. Returns what cannot be done, in a line, or null.
extern "C" __attribute__((visibility("default"))) const char* fbleprof_python_start(void* runtime,
                                                                                    int exact) {
  Dl_info info;
  void* handle = RTLD_DEFAULT;
  if (!find_functions(handle)) {
    if (!dladdr(runtime, &info)) return "Python: its library is not known";
    handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle || !find_functions(handle)) return "Python: its functions are not exported";
  }
  layout = layout_of(python.version());
  if (!layout) return "Python: only the scripts of 3.9 to 3.13 are shown";
  if (!python.this_thread()) return "Python: no thread state";
  if (!check_layout()) return "Python: this build has other structures than a release";
  fbleprof::adapters::own_code(reinterpret_cast<const void*>(&profile));
  if (fbleprof_read_stack(python.loop, read_frame) != 0) return "Python: its loop is not known";
  if (!exact) return nullptr;
  if (!find_exact_functions(handle)) return "Python: its calls cannot be counted, only sampled";
  extra_index = python.request_extra(nullptr);
  if (extra_index < 0) return "Python: its calls cannot be counted, only sampled";
  is_exact = true;
  claim_all_threads();
  return nullptr;
}
