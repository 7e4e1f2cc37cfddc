#!/bin/bash
# The completions of bash and zsh have every option of fble-prof's own help.
. "$(dirname "$0")/lib.sh"
: "${FBLE_PROF:?path of fble-prof}" "${SOURCE:?root of the project}"

# options_of [COMMAND]: those that its help names. That of a command has them in sentences.
options_of() {
  local start='^  (-. \[ )?'
  [ $# = 0 ] || start=
  "$FBLE_PROF" "$@" --help | grep -oE -- "$start--[a-z-]+" | grep -oE -- '--[a-z-]+' | sort -u
}

# What bash-completion gives to the function.
line=()
_init_completion() {
  # shellcheck disable=SC2034 # _fble_prof's own
  words=("${line[@]}") cword=$((${#line[@]} - 1)) cur=${line[-1]} prev=${line[-2]} split=false
}
_pids() { COMPREPLY=(a process); }
_command_offset() { COMPREPLY=(a program); }
compopt() { :; }
. "$SOURCE/scripts/completion/fble-prof.bash"

# completed WORD...: what follows these words; the last one is being typed.
completed() {
  line=(fble-prof "$@") COMPREPLY=()
  _fble_prof
  printf '%s\n' "${COMPREPLY[@]%=}"
}

for command in '' attach; do
  begin "options of fble-prof $command"
  # shellcheck disable=SC2086 # no word, or one
  options_of $command >options
  check "the help has some" "$(wc -l <options)" -gt 10
  # shellcheck disable=SC2086
  completed $command -- | sort >in_bash
  check "bash has them all" "$(comm -23 options in_bash)" = ""
  last='$'
  [ "$command" = attach ] && last='/^  return/'
  sed -n "/^shared=/,${last}p" "$SOURCE/scripts/completion/_fble-prof" >zsh_part
  while read -r option; do
    check "zsh has $option" "$(grep -c -- "${option}[]=[}]" zsh_part)" -gt 0
  done <options
done

begin "words that are no options"
check "a process for attach" "$(completed attach --rate 100 '')" = "a
process"
check "a process for detach" "$(completed detach '')" = "a
process"
check "a program" "$(completed --only-thread w '')" = "a
program"
