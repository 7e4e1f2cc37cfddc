#include "adapters/python_exact.h"

#include <stdlib.h>

#include "adapters/python_text.h"

namespace fbleprof::adapters::python {

namespace {

constexpr int kUseTracing39 = 48;   // thread state of 3.9; later versions: the cframe's byte 0
constexpr int kCframe = 48;         // thread state of 3.10
constexpr int kFrameOfObject = 24;  // frame object, 3.11 and later
constexpr int kCodeOfObject = 32;   // frame object, up to 3.10
constexpr int kMethod = 16, kSelf = 24, kModule = 32;  // C function
constexpr int kTypeName = 24, kTypeFlags = 168, kTypeMethods = 232, kTypeBase = 256;
constexpr size_t kMethodBytes = 32;
constexpr int kFunctionOfMethod = 8, kFlagsOfMethod = 16;
constexpr int kTakesOneArgument = 8;  // METH_O
constexpr uint64_t kIsType = 1ull << 31;

enum { kCall = 0, kReturn = 3, kCCall = 4, kCException = 5, kCReturn = 6 };
using Profiler = int (*)(void* object, void* frame, int what, void* argument);

long extra_index = -1;
// The program's own profile function in this thread, if ours stands before one.
__thread Profiler programs_own = nullptr;
// sys.setprofile, and the interpreter's function behind it.
Address setprofile_method = nullptr;
void* (*original_setprofile)(void* module, void* function) = nullptr;
// The next event is the return from sys.setprofile, of which the program's function hears only
// because ours was there before.
__thread bool hides_return = false;

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

// The called C functions, by their definitions. The interpreter's lock is held.
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

// The type that defines the method: mostly a base of the object's type.
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

// Our profile function alone, and before one of the program's.
int profile(void* object, void* frame, int what, void* argument);
int profile_and_pass_on(void* object, void* frame, int what, void* argument);
constexpr Profiler kOurs = profile, kBefore = profile_and_pass_on;

void set_tracing(Address thread) {
  if (layout->minor == 9) return put<int>(thread, kUseTracing39, 1);
  const auto cframe = at<Address>(thread, layout->minor == 10 ? kCframe : layout->thread_frames);
  if (layout->minor == 10) return put<int>(cframe, 0, 255);
  put<uint8_t>(cframe, 0, 255);
}

constexpr int kProfilersObject = 16;  // from the profile function; ours has none
// Whether the thread has a function of the program, with or without ours before it.
bool has_programs_own(Address thread) {
  const auto now = at<Profiler>(thread, layout->profiler);
  return now && now != kOurs;
}

// Puts our profile function into a thread that has none, or before the program's own. The program
// sees no difference: it asks for the function's object.
void claim(Address thread, bool is_this) {
  const auto now = at<Profiler>(thread, layout->profiler);
  if (now == kOurs || now == kBefore) return;
  if (!now) {
    if (layout->tracing < 0) {
      return python.profile_this(reinterpret_cast<void*>(kOurs), nullptr);
    }
    if (at<int>(thread, layout->tracing) != 0) return;
    put(thread, layout->profiler, kOurs);
    return set_tracing(thread);
  }
  if (!is_this) return;
  programs_own = now;
  put(thread, layout->profiler, kBefore);
}

// What the program has set in a thread, with or without ours before it.
struct ProgramsOwn {
  Address thread;
  Profiler function;
  void* object;
};

// For 3.12 and later, whose threads get a function only all at once: gives those theirs back that
// had one. The interpreter's lock is held.
void claim_threads_without_one() {
  const auto first = static_cast<Address>(python.first_thread(python.this_interpreter()));
  size_t count = 0, without = 0;
  for (auto thread = first; thread; thread = at<Address>(thread, kThreadNext), ++count) {
    if (!at<Profiler>(thread, layout->profiler)) ++without;
  }
  if (without == 0) return;
  auto* owners = static_cast<ProgramsOwn*>(calloc(count, sizeof(ProgramsOwn)));
  if (!owners) return;
  size_t owned = 0;
  for (auto thread = first; thread && owned < count; thread = at<Address>(thread, kThreadNext)) {
    if (!has_programs_own(thread)) continue;
    const auto function = at<Profiler>(thread, layout->profiler);
    const auto object = at<void*>(thread, layout->profiler + kProfilersObject);
    if (object) python.keep(object);  // the thread's own reference is dropped now
    owners[owned++] = {thread, function, object};
  }
  python.profile_all(reinterpret_cast<void*>(kOurs), nullptr);
  // Audit hooks may have let other threads run, and end.
  auto next = static_cast<Address>(python.first_thread(python.this_interpreter()));
  for (size_t i = 0; i < owned; ++i) {
    Address thread = next;
    while (thread && thread != owners[i].thread) thread = at<Address>(thread, kThreadNext);
    if (thread && at<Profiler>(thread, layout->profiler) == kOurs) {
      put(thread, layout->profiler, owners[i].function);
      put(thread, layout->profiler + kProfilersObject, owners[i].object);
    } else if (owners[i].object) {
      python.release(owners[i].object);
    }
    if (thread) next = thread;  // the order stays
  }
  free(owners);
}

void claim_all_threads() {
  if (layout->tracing < 0) return claim_threads_without_one();
  auto thread = static_cast<Address>(python.first_thread(python.main_interpreter()));
  for (; thread; thread = at<Address>(thread, kThreadNext)) claim(thread, false);
}

// Whether the event would be there without our profile function.
bool is_programs_event(int what, void* argument) {
  const bool is_hidden = hides_return && (what == kCReturn || what == kCException) &&
                         at<Address>(static_cast<Address>(argument), kMethod) == setprofile_method;
  hides_return = false;
  return !is_hidden;
}

int profile(void*, void* frame, int what, void* argument) {
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
  return 0;
}

int profile_and_pass_on(void* object, void* frame, int what, void* argument) {
  profile(nullptr, frame, what, argument);
  return is_programs_event(what, argument) ? programs_own(object, frame, what, argument) : 0;
}

// Whether the program's function in one thread makes all threads report: since 3.12, and until
// some thread sets a function or none.
bool programs_own_reports_all() {
  if (layout->tracing >= 0) return false;
  auto thread = static_cast<Address>(python.first_thread(python.this_interpreter()));
  while (thread && !has_programs_own(thread)) thread = at<Address>(thread, kThreadNext);
  return thread != nullptr;
}

void* setprofile(void* module, void* function) {
  static bool reports_all = false;
  const auto thread = static_cast<Address>(python.this_thread());
  if (!thread) return original_setprofile(module, function);
  const bool had_one = has_programs_own(thread) || reports_all;
  void* result = original_setprofile(module, function);
  claim(thread, true);
  hides_return = !had_one && has_programs_own(thread);
  reports_all = programs_own_reports_all();
  return result;
}

// Puts ours behind the object sys.setprofile, which stays the same.
void replace_setprofile() {
  const auto object = static_cast<Address>(python.sys_object("setprofile"));
  const Address method = object ? at<Address>(object, kMethod) : nullptr;
  if (!method || strcmp(at<Address>(method, 0), "setprofile") != 0 ||
      at<int>(method, kFlagsOfMethod) != kTakesOneArgument) {
    return;
  }
  setprofile_method = method;
  original_setprofile = at<void* (*)(void*, void*)>(method, kFunctionOfMethod);
  put(method, kFunctionOfMethod, &setprofile);
}

}  // namespace

bool is_exact() { return extra_index >= 0; }

void claim_this_thread() {
  if (layout->tracing < 0) return;
  if (const auto thread = static_cast<Address>(python.this_thread())) claim(thread, true);
}

bool start_exact() {
  if (!find_exact_functions()) return false;
  extra_index = python.request_extra(nullptr);
  if (extra_index < 0) return false;
  claim_all_threads();
  replace_setprofile();
  return true;
}

}  // namespace fbleprof::adapters::python
