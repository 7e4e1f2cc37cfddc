#!/bin/bash
# Faults of the profile's file do not affect the program.
. "$(dirname "$0")/lib.sh"
program=$PROGRAMS/endings.fentry

begin "read-only directory"
mkdir "$dir/locked"
if [ "$(id -u)" = 0 ]; then
  mount -t tmpfs -o ro,size=64k none "$dir/locked" 2>/dev/null || skip "cannot mount"
else
  chmod 555 "$dir/locked"
fi
settings=(FBLEPROF_OUT="$dir/locked/mlmon.out")
same "$program" return
check "nothing is written" ! -e "$dir/locked/mlmon.out"
umount "$dir/locked" 2>/dev/null

begin "missing directory"
settings=(FBLEPROF_OUT="$dir/not/there/mlmon.out")
same "$program" return

begin "the output is a directory"
mkdir "$profile"
same "$program" return

begin "full disk"
mkdir "$dir/small"
if mount -t tmpfs -o size=64k none "$dir/small" 2>/dev/null; then
  settings=(FBLEPROF_OUT="$dir/small/mlmon.out")
  same "$program" return
  head -c 65536 /dev/zero >"$dir/small/rest" 2>/dev/null
  other=$dir/small/other.out
  LD_PRELOAD=$LIB FBLEPROF_OUT=$other FBLEPROF_VERBOSE=1 "$program" return >/dev/null 2>"$dir/err"
  has_text "other.out: cannot be written: the profile is lost" "$dir/err" || fail "no message"
  check "no part of it is left" ! -e "$other"
  umount "$dir/small"
else
  skip "cannot mount a small file system"
fi

# A shell's profile is in memory, since the disk is full when it begins. Then it makes room.
room=$work/room
mkdir "$room"
if mount -t tmpfs -o size=2m none "$room" 2>/dev/null; then
  compute="for ((i = 0; i < 50000; ++i)); do :; done" make_room=": >$room/rest"
  in_memory() {
    profile=$room/mlmon.out settings=(FBLEPROF_OUT="$room/mlmon.out")
    plain bash -c "$1"
    head -c 4M /dev/zero >"$room/rest" 2>/dev/null
    profiled bash -c "$1"
    same_as_plain
    verified "$profile"
    check "it was in memory" "$("$REPORT" --raw "$profile" | grep -c '^note .*kept in memory')" = 1
  }
  begin "a full disk, and the last run's profile"
  FBLEPROF_OUT="$room/mlmon.out" LD_PRELOAD=$LIB "$program" return >/dev/null
  in_memory "$compute; $make_room"
  verified "$profile.old"
  rm "$room"/*

  begin "a full disk, and a child"
  in_memory "($compute; $make_room); $compute"
  check "the child's is beside it" "$(find "$room" -name 'mlmon.out.*' | wc -l)" = 1
  check "and has another process" ! -e "$profile.$(fact pid)"
  check "which is the shell's child" "$(fact parent_pid "$(find "$room" -name 'mlmon.out.*')")" = "$(fact pid)"
  rm "$room"/*

  begin "a full disk, and exec"
  in_memory "$compute; $make_room; exec '$PROGRAMS/phases.plain' 0.2"
  check "the first profile is the shell's" "$(fact state)" = replaced
  check "then there is the program's" "$("$REPORT" "$profile.$(fact pid)" 2>&1 | grep -c 'phases')" -ge 1
  umount "$room"
else
  skip "cannot mount a small file system"
fi

begin "file size limit"
limits=(@fsize=16384)
same "$program" return
begin "file size limit, and an exec that fails"
limits=(@fsize=16384)
same "$program" failed-exec
begin "no file size at all"
limits=(@fsize=0)
same "$program" closed

begin "symbolic link at the output's place"
echo precious >"$dir/target"
ln -s target "$profile"
same "$program" return
check "what it points to is left alone" "$(cat "$dir/target")" = precious

begin "hard link at the output's place"
echo precious >"$dir/target"
ln "$dir/target" "$profile"
same "$program" return
check "the other name is left alone" "$(cat "$dir/target")" = precious

begin "FIFO at the output's place"
mkfifo "$profile"
same "$program" return
check "it is still one" -p "$profile"

begin "nobody else may read a profile"
for mask in 0000 0022 0077; do
  (umask $mask && LD_PRELOAD=$LIB FBLEPROF_OUT=$profile "$program" return >/dev/null)
  check "mode with umask $mask" "$(stat -c %a "$profile")" = 600
done

for how in truncate delete replace; do
  begin "the profile is harmed: $how"
  same "$PROGRAMS/file_harm.fentry" $how "$profile"
  begin "the profile is harmed, no hooks: $how"
  same "$PROGRAMS/file_harm.plain" $how "$profile"
done

# A bad setting causes one remark at most.
for setting in FBLEPROF_RATE=many FBLEPROF_RATE=-5 FBLEPROF_RATE=99999999999 FBLEPROF_CLOCK=sun \
  FBLEPROF_COMPACT=all FBLEPROF_MEMORY=lots FBLEPROF_MEMORY=1 FBLEPROF_OUT= FBLEPROF_OUT=%q%; do
  begin "bad setting $setting"
  settings=("$setting")
  same "$program" return
done
begin "started switched off"
settings=(FBLEPROF_START=off)
same "$program" return

begin "reasons are told when asked for"
settings=(FBLEPROF_OUT="$dir/not/there/mlmon.out" FBLEPROF_VERBOSE=1)
profiled "$program" return
check "one line on stderr" "$(wc -l <"$dir/profiled.err")" = 1
has_text fbleprof "$dir/profiled.err" || fail "the line does not say who speaks"
