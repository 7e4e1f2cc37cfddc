"""waits_for_stop.py FILE: two threads with functions whose work is 1 : 2 : 3, until the file exists."""
import os
import signal
import sys
import threading

from split import Worker, one, spin

stop = sys.argv[1]
caught = []


def three(n):
    return sorted([1], key=lambda _: spin(3 * n))


def main():
    while not os.path.exists(stop):
        one(20000)
        Worker().two(20000)
        three(20000)


def on_signal(number, frame):
    caught.append(number)


thread = threading.Thread(target=main)
thread.start()
signal.signal(signal.SIGUSR1, lambda *_: signal.signal(signal.SIGSEGV, on_signal))
main()
thread.join()
print(caught)
