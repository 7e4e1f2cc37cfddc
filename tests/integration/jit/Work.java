// A recursive function and a loop.
public class Work {
  static int fib(int n) {
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
  }

  static long sum(int n) {
    long s = 0;
    for (int i = 0; i < n; i++) s += (i * 3L) % 7;
    return s;
  }

  public static void main(String[] arguments) {
    long total = 0;
    for (int i = 0; i < 400; i++) total += fib(24) + sum(200000);
    System.out.println(total);
  }
}
