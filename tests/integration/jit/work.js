// Half of the time in a recursive function, half in a method.
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
class Sums {
  sum(n) {
    let s = 0;
    for (let i = 0; i < n; i++) s += (i * 3) % 7;
    return s;
  }
}
const sums = new Sums();
let total = 0;
for (let i = 0; i < 400; i++) {
  total += fib(22);
  total += sums.sum(200000);
}
console.log(total);
