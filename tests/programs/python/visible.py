"""What a script can see of a profiler: its own profile function, signal handlers, errors, status."""
import atexit
import faulthandler
import multiprocessing
import os
import signal
import subprocess
import sys
import threading

seen = []


def own_profile(frame, event, argument):
    if frame.f_code.co_name == "busy":
        seen.append(event)


def busy(n):
    return sum(i for i in range(n)) if n else 0


def square(n):
    return busy(50_000) and n * n  # enough work for samples in each child, also on a fast processor


def profiles_itself():
    sys.setprofile(own_profile)
    for _ in range(300):
        busy(2000)
    assert sys.getprofile() is own_profile
    sys.setprofile(None)
    assert sys.getprofile() is None
    return len(seen)


def notes_all_events():
    events = []

    def note(frame, event, argument):
        events.append((event, frame.f_code.co_name, getattr(argument, "__name__", None)))

    sys.setprofile(note)
    busy(0)
    sys.setprofile(note)
    len(events)
    sys.setprofile(None)
    return events


def traces_itself():
    lines = []
    sys.settrace(lambda frame, event, argument: lines.append(event))
    busy(3)
    sys.settrace(None)
    return len(lines)


def children():
    for how in ("fork", "spawn"):
        with multiprocessing.get_context(how).Pool(2) as pool:
            print(how, pool.map(square, range(6)))
    print(subprocess.run([sys.executable, "-c", "print('child')"], capture_output=True).stdout)


def fails(n):
    if n == 0:
        raise ValueError("at the bottom")
    fails(n - 1)


def main():
    print(profiles_itself(), traces_itself())
    print(notes_all_events())
    faulthandler.enable()
    print([str(signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGSEGV, signal.SIGPROF)])
    thread = threading.Thread(target=busy, args=(100_000,))
    thread.start()
    thread.join()
    children()
    atexit.register(print, "at exit")
    sys.stdout.flush()
    if sys.argv[1] == "error":
        fails(3)
    if sys.argv[1] == "kill":
        os.kill(os.getpid(), signal.SIGSEGV)
    sys.exit(7)


if __name__ == "__main__":
    main()
