# shellcheck shell=bash
# Sourced by the scripts before they do anything: --help prints the comment at the top of the script.
case "${1-}" in
-h | --help)
  sed -n '2,/^[^#]/{/^# shellcheck/d;s/^# \{0,1\}//p}' "$0"
  exit
  ;;
esac
