"""calls.py plain|cprofile N: prints the CPU time (ns) of a call of an empty function."""
import sys
import time


def empty():
    pass


def loop(n):
    start = time.process_time()
    for _ in range(n):
        empty()
    return (time.process_time() - start) / n * 1e9


n = int(sys.argv[2])
if sys.argv[1] == "cprofile":
    import cProfile
    profile = cProfile.Profile()
    profile.enable()
    price = loop(n)
    profile.disable()
else:
    price = loop(n)
print(price)
