# shellcheck shell=bash
# bash completion for fble-prof-report: options, their values, and profiles.

_fble_prof_report() {
  # shellcheck disable=SC2034 # _init_completion sets them
  local cur prev words cword split
  _init_completion -s -n : || return

  local values
  case $prev in
    --by) values='module file namespace class thread process host rank label:' ;;
    --split-by) values='thread process process,thread host file label:' ;;
    --export) values='pprof otlp folded callgrind speedscope firefox dot svg json csv html' ;;
    --diff | --times-from | -o | --output)
      _filedir
      return
      ;;
    --metric) values='cpu wall calls samples ticks overhead' ;;
    --sort) values='self dominated calls per-call name cost caller callee' ;;
    --unit) values='auto ns us ms s B KiB MiB GiB' ;;
    --format) values='text json csv' ;;
    --colour | --color) values='auto always never' ;;
    --min) values='0.1 0.5 1 5' ;;
    --top) values='10 20 100' ;;
    --keep) values='from( to( pred( succ( at( path( not' ;;
    --cliques) values=context ;;
    --block | --path | --annotate | --call-sites | --coverage | --select | --exclude | --fold)
      values='re: module: file:'
      ;;
    --depth | --width | --fail-if) return ;;
  esac
  if [[ -n ${values-} ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$cur")
    [[ ${COMPREPLY[0]-} == *: ]] && compopt -o nospace
    return
  fi
  $split && return

  if [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W '--self --dominated --block= --path= --hot --overview --cliques --edges --by=
      --annotate= --source --asm --call-sites --coverage --summary --threads
      --verify --raw --export= --output= --tolerant --split-by= --diff= --normalize --times-from= --fail-if= --select= --exclude= --keep= --fold= --metric= --inlines --leaves --no-symbols
      --depth= --min= --all --top= --sort= --unit= --lines --format= --colour= --width= --help
      --version' -- "$cur")
    [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
    return
  fi
  _filedir
}

complete -F _fble_prof_report fble-prof-report
