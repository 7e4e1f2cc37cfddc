#!/bin/bash
# Debian's own programs with every function rewritten that can be (--exact): the same output, bit for bit. exact.sh has
# smaller programs. Reading the large ones takes most of the time.
. "$(dirname "$0")/lib.sh"
: "${FBLE_PROF:?path of fble-prof}"
plans=$XDG_CACHE_HOME/fbleprof
mkdir -p "$plans"

# begin_exact PROGRAM [CHOICE]: the profiled runs of this case are exact. Fails if there is no such program.
begin_exact() {
  begin "$1"
  command -v "$1" >/dev/null || { skip "no $1: run scripts/setup"; return 1; }
  settings=(FBLEPROF_EXACT="${2:-on}" FBLEPROF_EXACT_PLANS="$plans" FBLEPROF_EXACT_TOOL="$FBLE_PROF")
}
# written FILE: both runs wrote it, and the same.
written() { cmp "$dir/plain/$1" "$dir/profiled/$1" >/dev/null || fail "$1 differs, or was not written"; }
# counted_in PATTERN: at least one of the case's profiles has counted calls in a module of that name.
counted_in() {
  local file
  for file in $(profiles_in "$dir"); do
    verified "$file"
    "$REPORT" --by module --no-symbols --format csv "$file" | grep -q "$1" && [ "$(fact calls "$file")" -gt 10000 ] && return
  done
  fail "no calls of $1 were counted"
}

cp "$here/../programs/notes.c" "$here/../programs/block.h" "$work/"
if begin_exact gcc; then
  same gcc -O2 -c "$work/notes.c" -o notes.o
  written notes.o
  counted_in cc1
  object=$dir/plain/notes.o
  begin_exact ld
  same gcc "$object" -o notes
  written notes
  counted_in libbfd
fi

# Of clang, the front end: libLLVM takes 15 s to read. The comparison of compilers in scripts/bench has both.
if begin_exact clang-14 program,libclang-cpp; then
  same clang-14 -O1 -c "$work/notes.c" -o notes.o
  written notes.o
  counted_in libclang-cpp
fi

if begin_exact /usr/bin/python3 program; then
  settings+=(FBLEPROF_PYTHON=off)
  same /usr/bin/python3 -c 'import collections, json, re
words = collections.Counter(re.sub(r"[aeiou]", "", format(i * 7919 % 1009, "x")) for i in range(20000))
print(json.dumps(sorted(words.items())), [str(i) ** 2 if i > 9 else i / 3 for i in range(9)])
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
try: print(fib(17), [].pop())
except IndexError as error: print(error)'
  counted_in python3
fi

if begin_exact perl; then
  # shellcheck disable=SC2016  # perl's variables
  same perl -e 'my %h; for my $i (1..20000) { $h{$i % 100} .= chr(65 + $i % 26); }
    my $s = join "", map { $h{$_} } sort keys %h; $s =~ s/([A-M]+)/lc $1/ge;
    print sprintf("%s %d\n", substr($s, 0, 60), length $s); print eval { die "gone\n" } || $@; exit 3'
  counted_in perl
fi

if begin_exact git; then
  (git init -q "$dir/origin" && cd "$dir/origin" && for i in 1 2 3 4 5; do
    seq "$i" 999 >"file$i" && git add . && git -c user.name=a -c user.email=a@b commit -q -m "change $i" || exit
  done) || fail "cannot make a repository"
  for command in 'log --stat -p' 'fsck --full' 'blame file3' 'grep -c 7 HEAD~2'; do
    # shellcheck disable=SC2086  # words
    same git -C "$dir/origin" $command
  done
  same git clone -q --no-local "$dir/origin" copy
  counted_in git
fi

if begin_exact node; then
  same node -e 'const words = new Map();
for (let i = 0; i < 5000; ++i) { const w = (i * 7919 % 1009).toString(16); words.set(w, (words.get(w) || 0) + 1); }
console.log(JSON.stringify([...words].sort()).replace(/[0-9]/g, d => 9 - d).length, Buffer.from("z\u00e9").toString("hex"));
console.log(require("crypto").createHash("sha256").update("x".repeat(99999)).digest("hex"), new Intl.NumberFormat("de").format(1234.5));
setTimeout(() => { try { null.x } catch (error) { console.log(error.message); } process.exitCode = 3; }, 5);'
  counted_in node
fi

# redis-tools has the server, too, under another name: the package of the server would start it.
if begin_exact redis-check-rdb; then
  ln -s "$(command -v redis-check-rdb)" "$dir/redis-server"
  cat >"$dir/commands" <<'END'
config set hash-max-listpack-entries 4
eval "for i = 1, 300 do redis.call('set', 'k' .. i, i * 7919 % 1009) end return redis.call('dbsize')" 0
mget k1 k20 k300 none
eval "for i = 1, 300 do redis.call('zadd', 'z', i * 31 % 97, 'm' .. i) end return redis.call('zcard', 'z')" 0
zrange z 0 12 withscores
zrangebyscore z (50 60 limit 3 9
hset h a 1 b 2 c 3 d 4 e 5
hincrbyfloat h c 1.5
lpush l 1 2 3 4 5 6
linsert l before 3 x
lrange l 0 -1
xadd s 1-1 f v
xadd s 2-1 f w
xrange s - +
setrange bits 40 abc
bitcount bits
geoadd g 13.36 38.11 a 15.08 37.50 b
geodist g a b km
pfadd p a b c d e
pfcount p
sort l alpha desc
multi
incr k1
get nothing
lpush k1 wrong
exec
object encoding h
debug digest
END
  # session NAME VARIABLE...: the server answers these commands.
  session() {
    local socket=$dir/$1.socket server
    shift
    (cd "$dir" && exec env "$@" "$dir/redis-server" --port 0 --unixsocket "$socket" --save '' --appendonly no \
      --enable-debug-command yes --daemonize no >"$socket.log" 2>&1) &
    server=$!
    for _ in $(seq 300); do
      redis-cli -s "$socket" ping >/dev/null 2>&1 && break
      sleep 0.1
    done
    redis-cli -s "$socket" <"$dir/commands" >"$socket.out" 2>&1
    redis-cli -s "$socket" shutdown nosave >/dev/null 2>&1
    wait $server || fail "the server's status is $?: $(tail -n 3 "$socket.log")"
  }
  session plain
  session profiled LD_PRELOAD="$LIB" FBLEPROF_OUT="$profile" "${settings[@]}"
  check "it answered" "$(wc -l <"$dir/plain.socket.out")" -gt 80
  cmp -s "$dir/plain.socket.out" "$dir/profiled.socket.out" ||
    fail "answers differ: $(diff -a "$dir/plain.socket.out" "$dir/profiled.socket.out" | head -n 5)"
  counted_in redis
  # It contains Lua 5.1, for which there is no adapter.
  "$FBLE_PROF" --exact -o "$dir/checked" redis-check-rdb /dev/null >/dev/null 2>&1
  "$REPORT" --coverage "$dir/checked" | grep -q '^redis-check-rdb: counted exactly' ||
    fail "fble-prof leaves the program out"
fi
