#!/bin/bash
# fble-prof attach where the system refuses what it asks for: one line says so, and the program does
# not notice.
. "$(dirname "$0")/lib.sh"
: "${FBLE_PROF:?path of fble-prof}"
needs_tracing
TIMEOUT=300  # of the programs, which end when they are told

# refused RULE ARGS...: fble-prof, with a system call refused (refusing.c); its status is $status.
refused() {
  local rule=$1
  shift
  "$PROGRAMS/refusing.plain" "$rule" -- "$FBLE_PROF" "$@" >"$dir/refused.out" 2>"$dir/refused.err"
  status=$?
}
one_line() {
  check "$1: status" $status = 1
  check "$1: one line" "$(wc -l <"$dir/refused.err")" = 1
  has_text "$2" "$dir/refused.err" || fail "$1 says something else"
}
unchanged() {
  text_of >"$dir/text.now"
  cmp -s "$dir/text.before" "$dir/text.now" || fail "$1: the code is not as it was"
}

# Calls by number (x86-64), with ptrace's requests.
seize=101/0/16902 interrupt=101/0/16903 get=101/0/16900 set=101/0/16901 run=101/0/24
get_mask=101/0/16906 set_mask=101/0/16907
read_memory=310 write_memory=311 write_file=18 nudge=298 lock=73
# A mapping that only a borrowed thread makes: private, anonymous, without reserve.
map_for_us=9/3/16418
EPERM=1 EIO=5 ENOMEM=12 ENOSYS=38

# begins NAME HOW: a program that sleeps or works meanwhile.
begins() {
  begin "$1, $2"
  started "$PROGRAMS/phases.plain" 300 "$2"
  text_of >"$dir/text.before"
}
ends() {
  touch "$dir/stop"
  ended
  sleeps_went_on
}

for how in sleep work; do
  begins "what fble-prof needs" $how
  option=
  [ $how = sleep ] || option=--exact
  while read -r rule what; do
    # shellcheck disable=SC2086  # no word if it is empty
    refused "$rule" attach $option -o "$profile" "$pid"
    one_line "$rule $option" "$what"
    unchanged "$rule $option"
  done <<END
$seize=$EPERM the kernel forbids tracing
$interrupt=$EIO the kernel refuses PTRACE_INTERRUPT: Input/output error
$get=$EIO the kernel refuses PTRACE_GETREGSET: Input/output error
$set=$EIO the kernel refuses PTRACE_SETREGSET: Input/output error
$run=$EIO the kernel refuses PTRACE_SYSCALL: Input/output error
$read_memory=$EPERM its memory cannot be read: Operation not permitted
$write_memory=$EPERM its memory cannot be written: Operation not permitted
END
  check "the recorder is not there" "$(grep -c fbleprof "/proc/$pid/maps")" = 0
  ends

  begins "what it can do without" $how
  for rule in $get_mask=$EIO $set_mask=$EIO $nudge=$EPERM $lock=$ENOSYS; do
    for option in "" --exact; do
      # shellcheck disable=SC2086  # no word if it is empty
      refused "$rule" attach $option -o "$profile" "$pid"
      check "$rule: attach $option: $(cat "$dir/refused.err")" $status = 0
      refused "$rule" detach "$pid"
      check "$rule: detach: $(cat "$dir/refused.err")" $status = 0
      unchanged "$rule $option"
    done
  done

  ends
  verified "$profile"
done

for how in sleep work; do
  begins "what changes the code" $how
  refused $write_file=$EPERM attach --exact -o "$profile" "$pid"
  check "attach: status" $status = 1
  has_text "its memory cannot be written" "$dir/refused.err" || fail "attach says something else"
  unchanged "attach"
  attach --exact "$pid"
  for rule in $seize=$EPERM $get=$EIO $write_file=$EPERM; do
    refused "$rule" detach "$pid"
    one_line "$rule detach" "the kernel forbids tracing\|refuses PTRACE_GETREGSET\|its memory cannot be written"
  done
  detach "$pid"
  unchanged "detach"

  ends
  verified "$profile"
done

begin "a program that the system refuses memory"
started "$PROGRAMS/refusing.plain" $map_for_us=$ENOMEM -- "$PROGRAMS/phases.plain" 300
launcher_refuses 1 "it gets no memory for the recorder: Cannot allocate memory" attach --despite-seccomp -o "$profile" "$pid"
touch "$dir/stop"
ended

begin "programs that are not attached to"
launcher_refuses 1 "the kernel does not show its memory" attach 2  # the kernel's
started python3 -c 'import signal, time; signal.signal(signal.SIGPROF, lambda *_: None); time.sleep(60)'
for _ in $(seq 100); do grep -q 'SigCgt:.*[4-7c-f]......$' "/proc/$pid/status" && break; sleep 0.05; done
launcher_refuses 1 "it uses SIGPROF itself" attach -o "$profile" "$pid"
kill "$pid"
wait "$timer" 2>/dev/null
started "$PROGRAMS/split_stacks.plain" wait
said waits
launcher_refuses 1 "its stacks grow by pieces" attach -o "$profile" "$pid"
kill "$pid"
wait "$timer" 2>/dev/null
started "$PROGRAMS/phases.plain" 300
# What can be told without the process is refused before it is touched.
launcher_refuses 2 'less than 1024 bytes' attach \
  --exact="$(printf 'name,%.0s' $(seq 300))" -o "$profile" "$pid"
# A name of a file has 255 bytes at most.
long=$dir$(printf "/$(printf 'f%.0s' $(seq 250))%.0s" 1 2 3 4)
XDG_CACHE_HOME=$long launcher_refuses 2 'the folder for plans has a name of more than 1000 bytes' attach \
  --exact -o "$profile" "$pid"
check "the recorder is not there" "$(grep -c fbleprof "/proc/$pid/maps")" = 0
python3 -c 'import os, time; print(os.posix_spawn("/bin/true", ["true"], {}), flush=True); time.sleep(60)' \
  >"$dir/zombie" &
parent=$!
for _ in $(seq 100); do
  grep -qs '^State:.Z' "/proc/$(cat "$dir/zombie" 2>/dev/null)/status" && break
  sleep 0.05
done
launcher_refuses 1 "it has ended" attach "$(cat "$dir/zombie")"
kill $parent
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  cp "$FBLE_PROF" "$LIB" "$work"
  chmod 711 "$work"
  setpriv --reuid nobody --regid nogroup --clear-groups "$work/fble-prof" attach "$pid" 2>"$dir/refused.err"
  status=$?
  one_line "another user" "be its user or root"
  as_nobody=(setpriv --reuid nobody --regid nogroup --clear-groups)
  # attach_as_nobody COMMAND...: to a process of nobody's, which says when it is ready.
  attach_as_nobody() {
    "${as_nobody[@]}" "$@" >"$dir/ready" &
    local other=$!
    for _ in $(seq 200); do grep -q ready "$dir/ready" && break; sleep 0.05; done
    "${as_nobody[@]}" "$work/fble-prof" attach $other 2>"$dir/refused.err"
    status=$?
    kill $other
    wait $other 2>/dev/null
  }
  # The kernel hides a process that changed its user or its rights.
  attach_as_nobody perl -e '$| = 1; syscall(157, 4, 0, 0, 0, 0); print "ready\n"; sleep 60'
  one_line "PR_SET_DUMPABLE" "only root may: .*PR_SET_DUMPABLE"
  # Its user may run the program, but not read it.
  cp /bin/sh "$work/unreadable"
  chmod 711 "$work/unreadable"
  attach_as_nobody "$work/unreadable" -c 'echo ready; while :; do :; done'
  one_line "a program that cannot be read" "only root may\|cannot write the directory"
  # glibc leaves the begin of a library mapped if its end finds no memory. 151, 2: mlockall(MCL_FUTURE)
  # shellcheck disable=SC2016 # perl's variables
  "${as_nobody[@]}" bash -c 'ulimit -l 7000; exec "$@"' bash perl -e '
    $| = 1; print syscall(151, 2) == 0 ? "ready" : "mlockall: ready"; $x++ until -e $ARGV[0]; print " end"' \
    "$work/enough" >"$dir/ready" &
  half=$!
  for _ in $(seq 200); do grep -q ready "$dir/ready" && break; sleep 0.05; done
  for what in "cannot map zero-fill" "half loaded\|cannot map" "half loaded\|cannot map"; do
    "${as_nobody[@]}" "$work/fble-prof" attach -o "$work/half" $half 2>"$dir/refused.err"
    status=$?
    one_line "little memory" "$what"
  done
  touch "$work/enough"
  wait $half
  check "its status, with little memory" $? = 0
  check "its output, with little memory" "$(cat "$dir/ready")" = "ready end"
fi
touch "$dir/stop"
ended

begin "a process that becomes another program all the time"
cat >"$dir/becomes" <<'END'
#!/bin/sh
[ -e stop ] || exec "$0"
END
chmod 755 "$dir/becomes"
started "$dir/becomes"
for _ in $(seq 10); do
  "$FBLE_PROF" attach -o "$profile" "$pid" 2>"$dir/becomes.err" || cat "$dir/becomes.err" >>"$dir/refusals"
done
has_text "it became another program meanwhile: try again" "$dir/refusals" || fail "nothing says why"
lacks_text "linked statically" "$dir/refusals" || fail "something else is said"
touch "$dir/stop"
ended

begin "Yama"
# Where the kernel has no Yama: what it would show, and its refusal.
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null && command -v setpriv >/dev/null; then
  chmod 711 "$work" "$dir"
  cp "$FBLE_PROF" "$LIB" "$PROGRAMS/refusing.plain" "$PROGRAMS/phases.plain" "$work"
  started setpriv --reuid nobody --regid nogroup --clear-groups "$work/phases.plain" 300
  yama() {
    local scope=$1 user=$2
    unshare -m sh -c "mount -t tmpfs none /proc/sys/kernel && mkdir /proc/sys/kernel/yama &&
      echo $scope >/proc/sys/kernel/yama/ptrace_scope &&
      exec setpriv --reuid $user --regid nogroup --clear-groups '$work/refusing.plain' \
        $seize=$EPERM -- '$work/fble-prof' attach -o '$dir/profile' $pid" 2>"$dir/refused.err"
    status=$?
  }
  yama 1 nobody
  one_line "Yama: 1" "sysctl kernel.yama.ptrace_scope=0, or be root"
  yama 3 root
  one_line "Yama: 3" "until the machine is started again"
  yama 0 nobody
  one_line "Yama: 0" "only root may"
  touch "$dir/stop"
  ended
fi

begin "a process that sees other files, and may hold no memory file"
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
  cp "$PROGRAMS/phases.plain" "$dir/phases"
  cp "$PROGRAMS/refusing.plain" "$dir/refusing"
  started unshare -m sh -c "mount -t tmpfs none '$(dirname "$LIB")' &&
    exec '$dir/refusing' 319=$ENOSYS -- '$dir/phases' 300"
  sleep 0.3
  launcher_refuses 1 "nor take a copy of it" attach --despite-seccomp -o "$profile" "$pid"
  touch "$dir/stop"
  ended
fi

begin "the current directory is gone"
started "$PROGRAMS/phases.plain" 60 sleep
mkdir "$dir/gone"
cd "$dir/gone" || exit 1
rmdir "$dir/gone"
for options in '' '--delay 100ms'; do
  # shellcheck disable=SC2086 # words
  launcher_refuses 2 "current directory: No such file" attach $options "$pid"
done
lacks_text libfbleprof "/proc/$pid/maps" || fail "the process was changed"
attach -o "$profile" "$pid"
launcher_refuses 2 "current directory: No such file" attach "$pid"
detach "$pid"
cd "$work" || exit 1
touch "$dir/stop"
ended
verified "$profile"
