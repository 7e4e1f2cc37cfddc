// CPython 3.9 to 3.13: the functions of scripts, by file and line, and the C functions they call.
//
// Sampled (the default): at a sample the handler reads the thread's own list of frames, from its
// thread state. Nothing is installed in the interpreter, which runs as without the profiler. A
// frame of 3.11 and later belongs to the invocation of the loop whose variables hold its mark: the
// thread state's cframe (3.11, 3.12) or the entry frame (3.13). Up to 3.10 each invocation runs one
// function.
//
// Exact (--exact): a profile function for all threads enters and leaves a block for each call. The
// block's number is kept with the code object. If the program sets its own profile function, ours
// calls it.
//
// The adapter does not link Python: it looks up functions by name, and finds structures by a table,
// which it compares with a live object.
#include "adapters/python_exact.h"
#include "adapters/python_interpreter.h"
#include "adapters/python_sampled.h"

namespace python = fbleprof::adapters::python;

namespace {

const char* read_stacks() {
  fbleprof::adapters::own_code(reinterpret_cast<const void*>(&python::read_frame));
  return fbleprof_read_stack(python::python.loop, python::read_frame) == 0
             ? nullptr
             : "Python: its loop is not known";
}

}  // namespace

// The recorder calls this when the interpreter is ready, in a thread that holds the interpreter's
// lock. `runtime` is the variable _PyRuntime. Returns a line that says what does not work, or null.
extern "C" __attribute__((visibility("default"))) const char* fbleprof_python_start(void* runtime,
                                                                                    int exact) {
  if (const char* obstacle = python::find_interpreter(runtime)) return obstacle;
  if (const char* obstacle = python::check_interpreter()) return obstacle;
  if (const char* obstacle = read_stacks()) return obstacle;
  if (exact && !python::start_exact()) return "Python: its calls are not counted, only sampled";
  return nullptr;
}

// The same for a running program: fble-prof attach makes any of its threads call this, which holds
// no lock. So it only reads.
extern "C" __attribute__((visibility("default"))) const char* fbleprof_python_attach(
    void* runtime) {
  if (!fbleprof::adapters::find_attached_recorder())
    return "Python: its recorder is of another version";
  if (const char* obstacle = python::find_interpreter(runtime)) return obstacle;
  if (!python::find_thread_functions()) return "Python: its threads are not known";
  // The loader binds what this calls now, not in the signal handler.
  python::python.this_thread();
  return python::is_running_code_known() ? read_stacks() : python::kOtherStructures;
}
