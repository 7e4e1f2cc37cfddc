"""Functions of every kind, called a known number of times. With the argument "threads" in threads,
too, which cProfile does not see."""
import asyncio
import contextlib
import functools
import sys
import threading

CLEVER = []


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def squares(n):
    for i in range(n):
        yield i * i


def delegating(n):
    yield from squares(n)
    return n


def sent():
    total = 0
    while True:
        total += yield total


def refuse(i):
    if i % 3 == 0:
        raise ValueError(i)
    return i


def through(i):
    return refuse(i)


def errors():
    caught = 0
    for i in range(999):
        try:
            through(i)
        except ValueError:
            caught += 1
    return caught


def deep(n):
    return 0 if n == 0 else 1 + deep(n - 1)


class Pair:
    def __init__(self, value):
        self.value = value

    def __lt__(self, other):
        return self.value < other.value

    @property
    def half(self):
        return self.value // 2

    @classmethod
    def make(cls, value):
        return cls(value)


@functools.lru_cache
def cached(n):
    return n * 2


@contextlib.contextmanager
def managed():
    yield 1


def naïve(text):
    return text.upper()


async def leaf(i):
    await asyncio.sleep(0)
    return i


async def ticker(n):
    for i in range(n):
        yield i


async def gather():
    total = 0
    async for i in ticker(10):
        total += i
    return total + sum(await asyncio.gather(*[leaf(i) for i in range(50)]))


def abandoned():
    generator = squares(10)
    next(generator)
    del generator


def run():
    results = [fib(16), sum(squares(500)), len(list(delegating(70))), errors()]
    adder = sent()
    next(adder)
    results.append([adder.send(i) for i in range(20)][-1])
    adder.close()
    sys.setrecursionlimit(150_000)
    results.append(deep(100_000))
    results.append(asyncio.run(gather()))
    pairs = [Pair.make(i * 7919 % 101) for i in range(200)]
    pairs.sort()
    results.append(sum(pair.half for pair in pairs))
    results.append(sum(map(cached, [1, 2, 3] * 100)))
    with managed() as one:
        results.append(one)
    results.append(sorted("bca", key=naïve))
    results.append(sorted(range(50), key=lambda i: -i)[0])
    for _ in range(30):
        abandoned()
    return results


def in_thread(n):
    for _ in range(n):
        fib(6)
    CLEVER.append(n)


def main():
    print(run())
    if "threads" in sys.argv:
        threads = [threading.Thread(target=in_thread, args=(n,)) for n in range(1, 9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(sorted(CLEVER))
    print(sys.getprofile(), sys.gettrace())


main()
