"""A program's profile functions in several threads: what they hear is as without a profiler."""
import ctypes
import sys
import threading

heard = {}


def profile(frame, event, argument):
    name = threading.current_thread().name
    heard[name] = heard.get(name, 0) + 1


def called():
    return 1


def work():
    for _ in range(1000):
        called()


def starts_a_thread(go):
    go.wait()
    thread = threading.Thread(target=called)
    thread.start()
    thread.join()


def other_threads_start():
    go = threading.Event()
    thread = threading.Thread(target=starts_a_thread, args=(go,))
    thread.start()
    sys.setprofile(profile)
    work()
    before = heard.get("MainThread")
    go.set()
    thread.join()
    between = heard.get("MainThread")
    work()
    after = heard.get("MainThread")
    print(before, after - between, sys.getprofile() is profile)
    sys.setprofile(None)


def in_threads():
    heard.clear()
    threading.setprofile(profile)
    for name in ("one", "two"):
        thread = threading.Thread(target=work, name=name)
        thread.start()
        thread.join()
    threading.setprofile(None)
    print(heard.get("one", 0) // 100, heard.get("two", 0) // 100)


def notes_events():
    events = []

    def note(frame, event, argument):
        events.append((event, frame.f_code.co_name, getattr(argument, "__name__", None)))

    sys.setprofile(note)
    called()
    sys.setprofile(note)
    len(events)
    sys.setprofile(None)
    called()
    print(events)


class Freed:
    def __call__(self, *arguments):
        pass

    def __del__(self):
        print("freed")


def is_freed_once():
    sys.setprofile(Freed())
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    print(sys.getrefcount(sys.getprofile()))
    sys.setprofile(None)


def set_by_c():
    """The C API's function may have no object."""
    count = 0

    def hears(thing, frame, event, argument):
        nonlocal count
        count += 1
        return 0

    kind = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.py_object, ctypes.c_int, ctypes.c_void_p)
    function = kind(hears)
    set_profile = ctypes.pythonapi.PyEval_SetProfile
    set_profile.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    set_profile(ctypes.cast(function, ctypes.c_void_p), None)
    for _ in range(100):  # long enough for samples
        work()
    set_profile(None, None)
    print(count // 1000)


other_threads_start()
in_threads()
notes_events()
is_freed_once()
if sys.argv[1:] == ["c"]:
    set_by_c()
print("end")
