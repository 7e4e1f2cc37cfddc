#!/bin/bash
# fble-prof --exact --runs 2: one file with counts of one run and times of another.
. "$(dirname "$0")/lib.sh"
: "${FBLE_PROF:?path of fble-prof}"

twice() { "$FBLE_PROF" --exact=program --runs 2 -o "$profile" "$@" 2>err; }

begin "one profile of two runs"
cd "$dir" || exit 1
program=$PROGRAMS/notes.plain
"$program" >plain.out
twice "$program" >file.out </dev/null
check "status" $? = 0
check "its output, once, in a file" "$(cat file.out)" = "$(cat plain.out)"
check "nothing to say" "$(cat err)" = ""
check "one file" "$(echo mlmon.out*)" = mlmon.out
verified "$profile"
cp file.out profiled.out
expected
twice "$program" </dev/null | cat >pipe.out
check "its output, once, in a pipe" "$(cat pipe.out)" = "$(cat plain.out)"

begin "names with the process id"
cd "$dir" || exit 1
profile=$dir/p.%p
twice "$program" >/dev/null
check "nothing to say" "$(cat err)" = ""
joined=(p.*)
check "one file" "${#joined[@]}" = 1
check "it has both runs" "$(tail -c 8 "${joined[0]}")" = FBLEPLRN

begin "a wrapper that calls exec"
cd "$dir" || exit 1
twice --names env A=1 "$program" >/dev/null
check "nothing to say" "$(cat err)" = ""
# env has a sampled profile, too, if a sample met it.
check "the program's profile has both runs" "$(tail -q -c 8 mlmon.out.* | grep -ao FBLEPLRN | wc -l)" = 1
check "nothing else is left of the sampled run" "$(find . -name '*sampled*')" = ""

begin "the counted run is killed"
cd "$dir" || exit 1
# shellcheck disable=SC2016 # the program's own $$
twice sh -c 'for i in 1 2 3 4 5 6 7 8 9; do :; done; [ ! -e second ] || kill -9 $$; : >second' >/dev/null
check "status" $? = 137
check "one profile has both runs" "$(tail -c 8 "$profile")" = FBLEPLRN
check "nothing else is left of the sampled run" "$(find . -name '*sampled*')" = ""

begin "the times are the sampled run's"
cd "$dir" || exit 1
# shellcheck disable=SC2016 # a variable of perl
"$FBLE_PROF" --exact=program --runs 2 -o "$profile" perl -e '$x += $_ for 1..6e6' 2>err >/dev/null
check "calls" "$("$REPORT" --self --format csv "$profile" | awk -F, '{ n += $5 + 0 } END { print (n > 0) }')" = 1
check "nothing differs" "$("$REPORT" "$profile" 2>&1 | grep -c 'runs differ')" = 0
"$REPORT" --metric overhead "$profile" >/dev/null 2>overhead.err
check "the counted run's own price" $? = 0
counted() { "$REPORT" --self "$@" 2>&1 >/dev/null | grep -c 'are those of the counted run'; }
# shellcheck disable=SC2016 # a variable of perl
"$FBLE_PROF" -o sampled.out perl -e '$x += $_ for 1..6e6' 2>/dev/null >&2
# sides_of ARGS...: by function, its own time on both sides of a comparison.
sides_of() { "$REPORT" --self --all --format csv --diff "$@" 2>diff.err | awk -F, -v OFS=, 'NR > 1 && $2 + $3 { print $1, $2, $3 }' | sort; }
# own_of FILES...: what each function costs itself, by name.
own_of() { "$REPORT" --self --format csv "$@" 2>own.err | awk -F, -v OFS=, 'NR > 1 && $2 + 0 { print $1, $2 }' | sort; }
own_of "$profile" >one.own
check "there are times" "$(wc -l <one.own)" -gt 0
sides_of "$profile" "$profile" >sides.own
check "a comparison has them, too" "$(diff <(awk -F, -v OFS=, '{ print $1, $2, $2 }' one.own) sides.own)" = ""
sides_of sampled.out "$profile" | cut -d, -f1,3 | grep -v ',0$' >now.own
check "beside a profile of one run" "$(diff one.own now.own)" = ""
sides_of "$profile","$profile" "$profile","$profile" >means.own
check "also if there are several" "$(diff sides.own means.own)" = ""
"$REPORT" --export pprof -o both.pprof "$profile" 2>/dev/null
sides_of "$profile" both.pprof >exported.own
check "its export has the same times" "$(diff sides.own exported.own)" = ""
check "nothing is said" "$(counted "$profile" --diff "$profile")" = 0
"$REPORT" "$profile" --diff "$profile" --metric calls --fail-if '0 cpu' >/dev/null 2>&1
check "--fail-if has the same on both sides" $? = 0
check "whose times a part of a comparison has is said" "$(counted "$profile" --split-by thread --diff "$profile")" = 1
check "and only of times" "$(counted "$profile" --diff "$profile" --metric calls)" = 0
check "and only if there is a sampled run" "$(counted sampled.out --diff sampled.out)" = 0
check "a report without another has the sampled run's" "$(counted "$profile")" = 0
check "whose times a window has is said" "$(counted --window start..end "$profile")" = 1
"$REPORT" --summary --format csv "$profile" | awk -F, '$2 ~ /^sampled_run_/ { print $3 }' >sampled.facts
own_ns=$("$REPORT" --self --format csv --unit ns "$profile" 2>/dev/null | awk -F, 'NR > 1 { n += $2 } END { print n }')
near "the summary's CPU time of the sampled run" "$(head -n 1 sampled.facts)" "$own_ns" 10000
check "its time and its samples" "$(awk '$1 > 0' sampled.facts | wc -l)" = 3
"$REPORT" --summary "$profile" | has_text '^sampled run .* of CPU time, .* samples at' || fail "the summary lacks it"
before=$(stat -c %s "$profile")
"$REPORT" --trim "$profile" >/dev/null
check "trimming leaves both runs" "$(stat -c %s "$profile")" = "$before"
"$REPORT" --self --format csv "$profile" >unpacked
"$REPORT" --pack "$profile" >/dev/null 2>&1
"$REPORT" --self --format csv "$profile" >packed
check "packing does, too" "$(cmp unpacked packed 2>&1)" = ""
check "it has both runs" "$(tail -c 8 "$profile")" = FBLEPLRN

gzip -c "$profile" >packed.gz
"$REPORT" --self --format csv packed.gz >compressed
check "and so does compressing" "$(cmp packed compressed 2>&1)" = ""
"$REPORT" --self - <"$profile" >/dev/null 2>piped.err
check "a pipe is read once, which is said" "$(grep -c 'comes through a pipe' piped.err)" = 1
check "a named one, too" "$("$REPORT" --self <(cat "$profile") 2>&1 >/dev/null | grep -c 'comes through a pipe')" = 1

begin "waits are those of the counted run"
cd "$dir" || exit 1
for clock in cpu wall; do
  # shellcheck disable=SC2016 # a variable of perl
  twice --waits --clock "$clock" perl -e 'select undef, undef, undef, 0.05; $x += $_ for 1..1e6' >/dev/null
  "$REPORT" --metric wait --self --format csv "$profile" >wait.csv 2>wait.err
  check "the metric ($clock)" $? = 0
  check "it has the wait ($clock)" "$(awk -F, '$2 + 0 > 4e7 { n++ } END { print n + 0 }' wait.csv)" -gt 0
  "$REPORT" --waits --format csv "$profile" >waits.csv 2>wait.err
  check "the view has it ($clock)" "$(awk -F, '$5 + 0 > 4e7 { n++ } END { print n + 0 }' waits.csv)" -gt 0
  check "it says nothing else ($clock)" "$(grep -c 'holds no waits' wait.err)" = 0
  check "and there are times ($clock)" "$("$REPORT" --metric "$clock" --self --format csv "$profile" 2>/dev/null | wc -l)" -gt 2
done

begin "beside profiles of one run"
cd "$dir" || exit 1
# shellcheck disable=SC2016 # a variable of perl
loop='$x += $_ for 1..3e6'
twice perl -e "$loop" >/dev/null
"$FBLE_PROF" -o one.out perl -e "$loop; \$y .= \$_ for 1..1e6" 2>/dev/null
{ own_of "$profile"; own_of one.out; } | awk -F, -v OFS=, '{ sum[$1] += $2 } END { for (name in sum) print name, sum[name] }' | sort >expected.own
own_of "$profile" one.out >both.own
check "there are figures" "$(wc -l <expected.own)" -gt 0
check "each run's times are added" "$(diff expected.own both.own)" = ""
own_of one.out "$profile" >turned.own
check "in any order" "$(diff both.own turned.own)" = ""
own_of "$profile" - <one.out >/dev/null
check "a pipe beside it is read once, which is said" "$(grep -c 'comes through a pipe' own.err)" = 1
# shellcheck disable=SC2016 # a variable of perl
twice env A=1 perl -e "$loop" >/dev/null
becomes=("$profile".*[0-9])
own_of "${becomes[0]}" | grep -v '^\[root\]' >program.own
own_of "$profile" | grep -v '^\[root\]' >chain.own
check "the program has times" "$(wc -l <program.own)" -gt 0
check "a wrapper shows those of the program's sampled run" "$(comm -23 program.own chain.own)" = ""

begin "a directory, with child processes"
cd "$dir" || exit 1
mkdir of_both
profile=$dir/of_both/mlmon.out twice perl -e "unless (fork) { $loop } wait; $loop" >/dev/null
check "the sampled run's child has a profile" -n "$(find of_both -name '*.sampled.*')"
own_of of_both >directory.own
mapfile -t counted < <(find of_both -type f ! -name '*.sampled.*')
own_of "${counted[@]}" >files.own
check "there are figures" "$(wc -l <files.own)" -gt 0
check "the child counts once" "$(diff directory.own files.own)" = ""

begin "runs that differ"
cd "$dir" || exit 1
cat >differs.pl <<'END'
if (-e "seen") { $x .= sprintf("%d", $_) for 1..3e6; exit 3 } else { open(F, ">seen"); $x += $_ for 1..2e7 }
END
twice perl differs.pl
check "the second run's status" $? = 3
check "it says so" "$(grep -c 'the two runs differ' err)" = 1
"$REPORT" "$profile" >both.text 2>both.err
check "and so does the report" "$(grep -c 'the two runs differ' both.err)" = 1
check "it names both causes" "$(grep -c 'the same each time, or much of it is in short functions' both.err)" = 1

begin "signals and input"
cd "$dir" || exit 1
# shellcheck disable=SC2016 # the program's own $$
{ twice sh -c 'kill -TERM $$'; } 2>/dev/null
check "the signal" $? = 143
check "there was one run" "$(grep -c 'no other follows' err)" = 1
# shellcheck disable=SC2016 # the program's own variable
twice sh -c 'trap "exit 0" TERM; echo begun >>runs; while :; do sleep 0.1; done' &
runs=$!
for _ in $(seq 100); do [ -s runs ] && break; sleep 0.1; done
timeout 10 pkill -TERM -P "$runs" -x fble-prof
for _ in $(seq 100); do kill -0 "$runs" 2>/dev/null || break; sleep 0.1; done
kill -0 "$runs" 2>/dev/null && { fail "another run follows"; pkill -KILL -P "$runs"; }
wait "$runs"
check "a program that is told to end, and ends as usual" $? = 0
check "there was one run" "$(wc -l <runs)" = 1
check "it says so" "$(grep -c 'no other follows' err)" = 1
echo "one line" >input
check "input, twice" "$("$FBLE_PROF" --exact=program --runs 2 -o "$profile" cat <input 2>err)" = "one line"
echo piped | twice cat
check "input that can be read once" $? = 2
check "it says so" "$(wc -l <err)" = 1
"$FBLE_PROF" --runs 2 true 2>err
check "without --exact" $? = 2
"$FBLE_PROF" --exact --runs 2 --start-off true 2>err
check "with --start-off" $? = 2
check "it says so, too" "$(grep -c 'start-off cannot be used' err)" = 1

begin "runs that cannot be joined"
cd "$dir" || exit 1
program=$PROGRAMS/notes.plain
# refused CALL=ERROR ARGS...: with a system call refused (refusing.c).
refused() { "$PROGRAMS/refusing.plain" "$1" -- "$FBLE_PROF" --exact=program --runs 2 -o "$profile" "${@:2}" 2>err; }
refused 56=11 sh -c 'exit 4'  # clone
check "without a second process: status" $? = 4
check "it says so" "$(grep -c 'runs: cannot fork: Resource temporarily unavailable' err)" = 1
# shellcheck disable=SC2016 # the program's own variable
twice sh -c 'rm -f "$FBLEPROF_OUT"; exit 5'
check "a program that removes its profile: status" $? = 5
check "it says that there is nothing to join" "$(grep -c 'which are not joined' err)" = 1
rm -f "$profile"*
# shellcheck disable=SC2016 # the program's own variables
twice --names sh -c 'case $FBLEPROF_OUT in *sampled) rm -f "$FBLEPROF_OUT"; exit ;; esac; exec "$0"' "$program" >/dev/null
check "nothing to join" "$(grep -c 'which are not joined' err)" = 1
check "names all the same" "$("$REPORT" --no-symbols --self "$profile".* | grep -c ' main$')" = 1
twice sh -c "if [ -e once ]; then rm -f '$profile.sampled'; fi; touch once; exit 0"
check "a sampled profile that is gone: status" $? = 0
check "it says so" "$(grep -c 'which are not joined' err)" = 1
rm -f "$profile"*
# shellcheck disable=SC2016 # a variable of perl
twice sh -c 'perl -e "\$x += \$_ for 1..2e6"; exit 2'
check "child processes: status" $? = 2
check "whose profiles they are" "$(grep -c 'child processes: their profiles are those of the counted run' err)" = 1
verified "$profile"
rm -f "$profile"*
twice sh -c "if [ -e '$profile.sampled' ]; then truncate -s 5000 '$profile.sampled'; fi; $program >/dev/null"
check "a sampled profile that was cut: status" $? = 0
check "it says which one is left" "$(grep -c "cannot be written; the sampled run is $profile.sampled" err)" = 1

begin "names, and other inputs and outputs"
cd "$dir" || exit 1
twice --names "$program" >names.out </dev/null
check "names: status" $? = 0
check "they are in the file" "$("$REPORT" --no-symbols --self "$profile" | grep -c 'recurse\|main')" -gt 0
twice "$program" <&- >closed.out
check "no stdin: status" $? = 0
twice sh -c 'exit 3' >&-
check "no stdout: status" $? = 3
twice cat </dev/null >>appended.out
check "an empty input: status" $? = 0
echo before >appended.out
twice echo after >>appended.out
check "what was there stays" "$(cat appended.out)" = "before
after"
(sleep 2 | twice sh -c 'exit 6')
check "a pipe that says nothing: status" $? = 6
