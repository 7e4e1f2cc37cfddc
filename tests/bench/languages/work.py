"""Functions, methods, a generator and library calls, for about two seconds."""
import json


class Shape:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def area(self):
        return self.a * self.b


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def areas(n):
    return sum(Shape(i, 2).area() for i in range(n))


def texts(n):
    return len(json.dumps([{"name": str(i), "square": i * i} for i in range(n)]))


print(fib(27), areas(1_000_000), texts(300_000))
