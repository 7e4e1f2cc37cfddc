"""deep.py DEPTH: works at the end of a recursion of DEPTH calls."""
import sys


def work(n):
    s = 0
    for i in range(n):
        s += i % 7
    return s


def down(n):
    if n:
        return down(n - 1) + 1
    return sum(work(20000) for _ in range(400))


def start(n):
    return down(n)


depth = int(sys.argv[1])
sys.setrecursionlimit(depth + 1000)
print(start(depth))
