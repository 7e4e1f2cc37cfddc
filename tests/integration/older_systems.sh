#!/bin/bash
# System calls that an older kernel or a sandbox refuses cost precision at most, never the program
# or its counts. scripts/matrix does the same with an older libc.
. "$(dirname "$0")/lib.sh"

# Calls by number (x86-64): see refusing.c. 23: MADV_POPULATE_WRITE, 18: MADV_WIPEONFORK.
populate=28/2/23 wipe=28/2/18 no_name=2/1/4784130 rename=316 perf=298 timer=222 mincore=27 clone3=435
EPERM=1 EINVAL=22 ENOSYS=38 EOPNOTSUPP=95

# refused RULE... -- PROGRAM ARGS...
refused() {
  local rules=()
  while [ "$1" != -- ]; do
    rules+=("$1")
    shift
  done
  shift
  plain "$@"
  run profiled -- "$PROGRAMS/refusing.plain" "${rules[@]}" -- \
    env LD_PRELOAD="$LIB" FBLEPROF_OUT="$profile" "$@"
  same_as_plain
  verified "$profile"
}

for rule in $populate=$EINVAL $populate=$ENOSYS $wipe=$EINVAL $wipe=$ENOSYS $no_name=$EOPNOTSUPP \
  $rename=$ENOSYS $rename=$EINVAL $perf=$EPERM $perf=$ENOSYS $mincore=$ENOSYS; do
  begin "refused: $rule"
  refused "$rule" -- "$PROGRAMS/endings.fentry" return
  expected
done

old=("$populate=$EINVAL" "$wipe=$EINVAL" "$no_name=$EOPNOTSUPP" "$rename=$ENOSYS" "$perf=$EPERM"
  "$clone3=$ENOSYS")
for mode in fentry cyg; do
  begin "everything that is newer than Linux 4.18, and more, $mode"
  refused "${old[@]}" -- "$PROGRAMS/threads.$mode" many
  expected
  begin "forks there, $mode"
  refused "${old[@]}" -- "$PROGRAMS/processes.$mode" fork
  expected
  check "one profile a process" "$(profiles_in "$dir" | wc -l)" = 12
done

begin "attach --exact without clone3"
: "${FBLE_PROF:?path of fble-prof}"
if (needs_tracing); then
  started "$PROGRAMS/refusing.plain" "$clone3=$ENOSYS" -- "$PROGRAMS/attached_calls.plain" 2
  "$FBLE_PROF" attach --exact -o "$profile" "$pid" 2>"$dir/attach.err" || fail "attach: $(cat "$dir/attach.err")"
  for point in before begin end after rest bounded short fork waiting woken fault resume stop; do
    touch "$dir/$point"
  done
  ended
  verified "$profile"
  check "calls of 200 threads that start then" "$(calls run_shortly step)" = 20000
  check "all threads are in it" "$(fact threads)" = 205
fi

begin "no timer at all"
refused $perf=$EPERM $timer=$ENOSYS -- "$PROGRAMS/endings.fentry" return
expected

# Before Linux 5.9, without close_range. 217: getdents64, in case there is no /proc either.
for closing in "436=$ENOSYS" "436=$ENOSYS 217=$ENOSYS"; do
  begin "the tool that makes plans inherits no descriptor, refused: $closing"
  cat >"$dir/tool" <<END
#!/bin/sh
exec >>'$dir/asked'
for fd in 9 11; do
  [ -e /proc/self/fd/\$fd ] && echo \$fd
done
echo asked
END
  chmod +x "$dir/tool"
  # shellcheck disable=SC2086
  "$PROGRAMS/refusing.plain" $closing -- env LD_PRELOAD="$LIB" FBLEPROF_OUT="$profile" FBLEPROF_EXACT=on \
    FBLEPROF_EXACT_PLANS="$dir/plans" FBLEPROF_EXACT_TOOL="$dir/tool" \
    "$PROGRAMS/endings.plain" return 9</dev/null 11</dev/null >/dev/null 2>&1
  check "what it says" "$(sort -u "$dir/asked")" = asked
done

# membarrier, before code is changed that other threads may be in.
for error in $EPERM $ENOSYS; do
  for mode in fentry patchable; do
    begin "refused: 324=$error, $mode"
    refused "324=$error" -- "$PROGRAMS/threads.$mode" many
    expected
  done
done

# A processor with neither xsave nor AVX: vectors are kept with fxsave.
begin "an older processor"
if command -v qemu-x86_64 >/dev/null; then
  old_cpu=(qemu-x86_64 -cpu Nehalem -E FBLEPROF_OUT="$profile")
  plain "${old_cpu[@]}" "$PROGRAMS/notes.fentry"
  run profiled -- "${old_cpu[@]}" -E LD_PRELOAD="$LIB" "$PROGRAMS/notes.fentry"
  same_as_plain
  expected
else
  skip "no qemu-x86_64: run scripts/setup"
fi

begin "a full disk before Linux 5.14"
mkdir "$dir/small"
if mount -t tmpfs -o size=64k none "$dir/small" 2>/dev/null; then
  plain "$PROGRAMS/endings.fentry" return
  run profiled -- "$PROGRAMS/refusing.plain" $populate=$EINVAL -- \
    env LD_PRELOAD="$LIB" FBLEPROF_OUT="$dir/small/mlmon.out" "$PROGRAMS/endings.fentry" return
  same_as_plain
  umount "$dir/small"
else
  skip "cannot mount a small file system"
fi

# In a container: a read-only root, another user, a process-id namespace, and calls that Docker's filter
# refuses: perf_event_open, clone3 and, by numbers, ptrace, process_vm_readv, process_vm_writev, mount,
# umount2, unshare, setns, bpf, userfaultfd, add_key, request_key, keyctl, io_uring_setup.
container=("$perf=$EPERM" "$clone3=$ENOSYS")
for call in 101 310 311 165 166 272 308 321 323 248 249 250 425; do container+=("$call=$EPERM"); done
begin "a container"
if [ "$(id -u)" = 0 ] && unshare --mount --pid --fork --mount-proc true 2>/dev/null; then
  chmod 711 "$work"
  chmod 777 "$dir" "$dir/plain" "$dir/profiled"
  cp "$PROGRAMS/endings.fentry" "$PROGRAMS/processes.fentry" "$PROGRAMS/refusing.plain" "$LIB" "$dir"
  cat >"$dir/container" <<'END'
#!/bin/bash
# container DIRECTORY COMMAND...: only DIRECTORY is writable. Without `bind`, the machine's own root would change.
mount --bind "$1" "$1" && mount -o remount,bind,ro / && ! touch /usr/writable 2>/dev/null || exit 77
shift
exec setpriv --reuid nobody --regid nogroup --clear-groups "$@"
END
  chmod +x "$dir/container"
  for how in endings processes; do
    argument="return"
    [ $how = endings ] || argument=fork
    rm -f "$profile"*
    inside=(unshare --mount --pid --fork --mount-proc "$dir/container" "$dir"
      "$dir/refusing.plain" "${container[@]}" --)
    run plain -- "${inside[@]}" "$dir/$how.fentry" $argument
    run profiled -- "${inside[@]}" env LD_PRELOAD="$dir/${LIB##*/}" FBLEPROF_OUT="$profile" \
      "$dir/$how.fentry" $argument
    same_as_plain
    check "its root is read-only" "$(cat "$dir/plain.status")" != 77
    check "the profile is theirs" "$(stat -c %U "$profile" 2>&1)" = nobody
    expected
  done
else
  skip "cannot make namespaces"
fi
