# shellcheck shell=bash
# bash completion for fble-prof-report: options, their values, and profiles.

_fble_prof_report() {
  # shellcheck disable=SC2034 # _init_completion sets them
  local cur prev words cword split
  _init_completion -s -n : || return

  local values
  case $prev in
    --by) values='thread process process,thread' ;;
    --metric) values='cpu wall calls samples ticks overhead' ;;
    --sort) values='self dominated calls per-call name cost caller callee' ;;
    --unit) values='auto ns us ms s B KiB MiB GiB' ;;
    --format) values='text json csv' ;;
    --colour | --color) values='auto always never' ;;
    --min) values='0.1 0.5 1 5' ;;
    --top) values='10 20 100' ;;
    --block | --select | --exclude | --fold) values='re: module: file:' ;;
    --depth | --width) return ;;
  esac
  if [[ -n ${values-} ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$cur")
    [[ ${COMPREPLY[0]-} == *: ]] && compopt -o nospace
    return
  fi
  $split && return

  if [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W '--self --dominated --block= --edges --summary --threads
      --verify --raw --select= --exclude= --fold= --by= --metric= --inlines --leaves --no-symbols
      --depth= --min= --all --top= --sort= --unit= --lines --format= --colour= --width= --help
      --version' -- "$cur")
    [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
    return
  fi
  _filedir
}

complete -F _fble_prof_report fble-prof-report
