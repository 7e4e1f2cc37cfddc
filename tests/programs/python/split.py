"""Three functions whose work is 1 : 2 : 3, and C code below a fourth."""
import hashlib
import sys


def spin(n):
    total = 0
    for i in range(n):
        total += i & 3
    return total


def one(n):
    return spin(n)


class Worker:
    def two(self, n):
        return spin(2 * n)


def three(n):
    return spin(3 * n)


def native(data, n):
    digest = hashlib.sha256()
    for _ in range(n):
        digest.update(data)
    return digest.hexdigest()


def main():
    n = int(sys.argv[1])
    for _ in range(20):
        one(n)
        Worker().two(n)
        three(n)
    print(native(b"x" * 100_000, n // 500))
    print(sorted(range(5), key=lambda i: -i), sys.getprofile())


if __name__ == "__main__":
    main()
