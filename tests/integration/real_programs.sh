#!/bin/bash
# Unmodified programs from Debian: the same output, and a tree that names their C functions.
. "$(dirname "$0")/lib.sh"

# names FUNCTION...: the profile has time in or below each.
names() {
  local function
  for function in "$@"; do
    awk -v a="$(dominated "$function")" 'BEGIN { exit !(a > 0) }' ||
      fail "the tree does not name $function"
  done
}
# A profile of every process, each in order.
sound() {
  local file
  while read -r file; do verified "$file"; done < <(profiles_in "$dir")
}
has() { command -v "$1" >/dev/null || { skip "no $1: run scripts/setup"; return 1; }; }

begin "python3"
cat >"$dir/work.py" <<'END'
import json, re
total = 0
for i in range(60000):
    total += len(re.sub(r"\d+", "n", json.dumps({"a": i, "b": [i, str(i)]})))
print(total)
END
same /usr/bin/python3 "$dir/work.py"
sound
names PyEval_EvalCode Py_BytesMain dumps  # in place of the loop, the functions that it runs
settings=(FBLEPROF_PYTHON=off)
same /usr/bin/python3 "$dir/work.py"
sound
names _PyEval_EvalFrameDefault Py_BytesMain
begin "python3 that starts others"
same /usr/bin/python3 -c 'import subprocess, sys
for i in range(5): print(subprocess.run([sys.executable, "-c", f"print({i}); raise SystemExit({i})"], capture_output=True))'
sound

begin "perl"
# shellcheck disable=SC2016  # perl's variables
same perl -e 'my %h; for my $i (1..400000) { $h{$i % 1000} .= chr(65 + $i % 26); }
  my $s = join "", map { $h{$_} } sort keys %h; $s =~ s/AB+/x/g; print length($s), "\n"; exit 3'
sound
names Perl_runops_standard perl_run
begin "perl sleeps as long as it wants"
# shellcheck disable=SC2016  # perl's variables
same perl -e 'print sleep(1), "\n"; select(undef, undef, undef, 0.2); local $SIG{ALRM} = sub { print "alarm\n" }; alarm 1; print sleep(5) < 5, "\n"'

begin "gcc"
cp "$here/../programs/notes.c" "$here/../programs/block.h" "$dir/"
same gcc -O2 -I"$dir" -c "$dir/notes.c" -o notes.o
cmp -s "$dir/plain/notes.o" "$dir/profiled/notes.o" || fail "the object files differ"
sound
check "every process has its profile" "$(profiles_in "$dir" | wc -l)" -ge 3

begin "sqlite3"
if has sqlite3; then
  same sqlite3 :memory: 'with recursive n(i) as (select 1 union all select i + 1 from n where i < 600000)
    select sum(i % 7), count(distinct i % 1000), group_concat(i % 3) like "%1%" from n'
  sound
  names sqlite3_step
fi

begin "sort"
seq 400000 | awk '{ print ($1 * 7919) % 400009 }' >"$dir/numbers"
same sort -n --parallel=2 -S 4M "$dir/numbers"
sound
begin "xz"
if has xz; then
  seq 300000 >"$dir/numbers"
  same xz -T2 -c "$dir/numbers"
  sound
  same xz -T1 -c "$dir/numbers"  # its threads enter the library by functions without a name
  names lzma_code
fi
begin "openssl"
if has openssl; then
  head -c 30000000 /dev/zero >"$dir/zeros"
  same openssl dgst -sha3-512 "$dir/zeros"
  sound
fi

begin "git"
if has git; then
  mkdir "$dir/origin"
  (cd "$dir/origin" && git init -q . && for i in $(seq 30); do
    seq "$i" 2000 >"file$i" && git add . &&
      git -c user.name=a -c user.email=a@b commit -q -m "change $i"
  done) || fail "cannot make a repository"
  for command in 'log --stat' 'fsck --full' 'blame file7' 'status --short'; do
    # shellcheck disable=SC2086  # words
    same git -C "$dir/origin" $command
    sound
  done
  same git clone -q --no-local "$dir/origin" copy
  sound
  [ "$(git -C "$dir/plain/copy" rev-parse HEAD)" = "$(git -C "$dir/profiled/copy" rev-parse HEAD)" ] ||
    fail "the clones differ"
fi

begin "bash"
# shellcheck disable=SC2016  # for that shell
same bash -c 'f() { local i=$1; [ $i -gt 0 ] && f $((i - 1)); echo -n $i; }; for i in 1 2 3; do f 50; done
  echo; trap "echo bye" EXIT; (exit 3); echo $?; kill -0 $$; sleep 0.1 & wait $!; echo $?; exit 9'
sound

begin "redis-server under redis-benchmark"
if has redis-benchmark; then
  # redis-tools contains the server too, under another name; installing redis-server would start
  # one.
  ln -s "$(command -v redis-check-rdb)" "$dir/redis-server"
  socket=$dir/socket
  (cd "$dir" && LD_PRELOAD=$LIB FBLEPROF_OUT=$profile exec "$dir/redis-server" --port 0 \
    --unixsocket "$socket" --save '' --appendonly no --daemonize no >"$dir/log" 2>&1) &
  server=$!
  for _ in $(seq 100); do
    redis-cli -s "$socket" ping >/dev/null 2>&1 && break
    sleep 0.1
  done
  redis-benchmark -s "$socket" -q -n 30000 -t set,get,lpush,lrange_100 >"$dir/benchmark" 2>&1 ||
    fail "redis-benchmark: $(tail -n 3 "$dir/benchmark")"
  check "all requests were answered" "$(tr '\r' '\n' <"$dir/benchmark" | grep -c 'requests per second, p50')" = 5
  redis-cli -s "$socket" set kept value >/dev/null
  redis-cli -s "$socket" bgsave >/dev/null
  for _ in $(seq 50); do
    [ -s "$dir/dump.rdb" ] && break
    sleep 0.1
  done
  check "a forked child saved the data" -s "$dir/dump.rdb"
  check "values are kept" "$(redis-cli -s "$socket" get kept)" = value
  redis-cli -s "$socket" shutdown nosave >/dev/null 2>&1
  wait $server
  check "it ends well" $? = 0
  sound
  names aeMain call
fi

# man runs its helpers in a seccomp sandbox.
begin "man"
if has man; then
  same man -P cat -l /dev/null
  sound
fi
