# shellcheck shell=bash
# bash completion for fble-prof: its own options, then the program and the program's own completion.

_fble_prof() {
  local cur prev words cword split
  _init_completion -s -n : || return

  # `fble-prof push` has its own options.
  if ((cword > 1)) && [[ ${words[1]} == push ]]; then
    if [[ $prev == --format ]]; then
      mapfile -t COMPREPLY < <(compgen -W 'pprof otlp' -- "$cur")
    elif [[ $cur == -* ]]; then
      mapfile -t COMPREPLY < <(compgen -W '--format --name --label --since-last --tenant --timeout --retries
        --help --version' -- "$cur")
    else
      _filedir
    fi
    return
  fi

  if ((cword > 1)) && [[ ${words[1]} == detach ]]; then
    if [[ $cur == -* ]]; then
      mapfile -t COMPREPLY < <(compgen -W '--despite-seccomp --help --version' -- "$cur")
    else
      _pids
    fi
    return
  fi
  # So has `fble-prof ctl`.
  if ((cword > 1)) && [[ ${words[1]} == ctl ]]; then
    if ((cword == 2)); then
      _filedir
    elif ((cword == 3)); then
      mapfile -t COMPREPLY < <(compgen -W 'status start stop snapshot reset windows' -- "$cur")
    fi
    return
  fi

  # `fble-prof attach` has some of the options, then a process.
  local i word first=1 is_attach=false
  ((cword > 1)) && [[ ${words[1]} == attach ]] && first=2 is_attach=true
  for ((i = first; i < cword; i++)); do
    word=${words[i]}
    case $word in
      --)
        $is_attach && break
        _command_offset $((i + 1))
        return
        ;;
      --*=*) ;;
      -o | --out | -r | --rate | -c | --clock | --compact | -m | --memory | --depth | --tick-period | --runs | --throttle | \
        --delay | --duration | --control-signal | --window | --children | \
        --only | --not | --only-thread | --not-thread)
        [[ ${words[i + 1]-} == = ]] && ((i++))
        ((i++))
        ;;
      -*) ;;
      *)
        $is_attach && return
        _command_offset "$i"
        return
        ;;
    esac
  done

  case $prev in
    -o | --out)
      _filedir
      return
      ;;
    -r | --rate)
      mapfile -t COMPREPLY < <(compgen -W '100 1000 10000 20000' -- "$cur")
      return
      ;;
    -c | --clock)
      mapfile -t COMPREPLY < <(compgen -W 'cpu wall ticks cycles instructions cache-misses branch-misses task-clock page-faults major-page-faults' -- "$cur")
      return
      ;;
    --compact)
      mapfile -t COMPREPLY < <(compgen -W 'pair suffix none' -- "$cur")
      return
      ;;
    -m | --memory)
      mapfile -t COMPREPLY < <(compgen -W '64M 256M 1G 4G' -- "$cur")
      return
      ;;
    --depth)
      mapfile -t COMPREPLY < <(compgen -W '50 100 500' -- "$cur")
      return
      ;;
    --tick-period)
      mapfile -t COMPREPLY < <(compgen -W '1 100 10000' -- "$cur")
      return
      ;;
    --throttle)
      mapfile -t COMPREPLY < <(compgen -W '1000000 10000000' -- "$cur")
      return
      ;;
  esac
  case $prev in
    --delay | --duration | --window)
      mapfile -t COMPREPLY < <(compgen -W '500ms 10s 1m' -- "$cur")
      return
      ;;
    --control-signal)
      mapfile -t COMPREPLY < <(compgen -W 'USR1 USR2 RTMIN+1' -- "$cur")
      return
      ;;
  esac
  $split && return

  if $is_attach && [[ $cur != -* ]]; then
    _pids
    return
  fi
  if $is_attach; then
    mapfile -t COMPREPLY < <(compgen -W '--out= --rate= --clock= --compact= --memory= --depth= --exact
      --throttle= --callsites --leaves --faults --native --no-python --only= --not= --start-off
      --children= --delay= --duration= --despite-seccomp --help --version' -- "$cur")
    [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
    return
  fi
  if [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W '--out= --rate= --clock= --compact= --memory= --depth=
      --tick-period= --exact --runs= --throttle= --memory-profile --waits --no-waits --callsites --leaves --faults
      --no-native-below --native --no-lua --no-python --only= --not= --only-thread= --not-thread= --start-off
      --children= --delay= --duration= --control-signal= --window= --names --verbose --help
      --version' -- "$cur")
    [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
    return
  fi
  _command_offset "$cword"
}

complete -F _fble_prof fble-prof
