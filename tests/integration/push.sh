#!/bin/bash
# fble-prof push: the request follows Pyroscope's documentation of /ingest, or OTLP's specification;
# later pushes send differences; and servers that are unreachable, busy or refuse are distinguished.
. "$(dirname "$0")/lib.sh"
: "${FBLE_PROF:?path of fble-prof}"
export XDG_STATE_HOME=$work/state
server=

# serve STATUS...: starts a server; $url is where. With $TLS, a folder with key and certificate, by https.
serve() {
  stop
  rm -f "$dir/port"
  mkdir -p "$dir/requests"
  python3 "$here/ingest_server.py" "$dir/requests" "$@" >"$dir/port" &
  server=$!
  local i
  for ((i = 0; i < 100; i++)); do
    [ -s "$dir/port" ] && break
    sleep 0.1
  done
  url=http${TLS:+s}://127.0.0.1:$(cat "$dir/port")
}
stop() {
  [ -n "$server" ] && kill "$server" && wait "$server" 2>/dev/null
  server=
}
push() { "$FBLE_PROF" push "$@" >"$dir/out" 2>"$dir/err"; }
# of_otlp REQUEST EXPRESSION: evaluates it on a received request; r is the request as
# tests/oracle/otlp.py reads it.
of_otlp() { PYTHONPATH=$here/../oracle python3 -c 'import otlp, sys
r = otlp.Request(open(sys.argv[1], "rb").read())
print(eval(sys.argv[2]))' "$dir/requests/$1.otlp" "$2"; }
# of REQUEST EXPRESSION: evaluates it on a received request; r is the request.
of() { python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
print(eval(sys.argv[2]))' "$dir/requests/$1.json" "$2"; }

begin "a profile is sent as documented"
settings=(FBLEPROF_RATE=1000)
profiled "$PROGRAMS/sites.fentry" 20000
serve
push --name 'my app' --label env=staging --label 'odd=a,b{c}' --tenant one "$profile" "$url"
check "status" $? = 0
check "path" "$(of 1 'r["path"]')" = /ingest
check "format" "$(of 1 'r["query"]["format"]')" = pprof
check "name" "$(of 1 'r["query"]["name"].split(",hostname")[0]')" = 'my_app{env=staging,odd=a_b_c_'
check "from is before until" "$(of 1 'int(r["query"]["from"]) < int(r["query"]["until"])')" = True
check "it was now" "$(of 1 'abs(int(r["query"]["until"]) - __import__("time").time()) < 600')" = True
check "rate" "$(of 1 '"sampleRate" not in r["query"] or int(r["query"]["sampleRate"]) > 0')" = True
check "fields" "$(of 1 '",".join(r["fields"])')" = profile,sample_type_config
check "types" "$(of 1 'r["types"]["cpu"]["aggregation"]')" = sum
check "tenant" "$(of 1 'r["tenant"]')" = one
if command -v protoc >/dev/null; then
  protoc --decode_raw <"$dir/requests/1.pprof" >"$dir/decoded" || fail "it is no protobuf"
  has_text '"work"' "$dir/decoded" || fail "functions have no names"
fi
cp "$profile" "$work/ready.out"

begin "the server is told about the sample types that the profile has"
"$FBLE_PROF" --memory-profile=exact -o "$dir/memory" "$PROGRAMS/allocates.fentry" containers >/dev/null 2>&1
serve
push "$dir/memory" "$url"
check "status" $? = 0
if command -v protoc >/dev/null; then
  check "sample types" "$(of 1 'sorted(r["types"])')" = "$(protoc --proto_path="$here/../oracle" \
    --decode=pprof.Profile profile.proto <"$dir/requests/1.pprof" | python3 -c 'import re, sys
text = sys.stdin.read()
texts = re.findall(r"^string_table: \"(.*)\"$", text, re.M)
print(sorted(texts[int(type)] for type in re.findall(r"^sample_type \{\n  type: (\d+)", text, re.M)))')"
fi
check "memory in use" "$(of 1 'r["types"]["inuse_space"]["units"]')" = bytes

begin "a profile is sent by OTLP"
profiled "$PROGRAMS/sites.fentry" 20000
serve
push --format otlp --name 'my app' --label deployment.environment.name=staging "$profile" "$url/base"
check "status" $? = 0
check "path" "$(of 1 'r["path"]')" = /base/v1development/profiles
check "it is compressed" "$(of 1 'r["encoding"]')" = gzip
if command -v protoc >/dev/null; then
  check "the format's rules" "$(of_otlp 1 'r.broken')" = '[]'
  check "service" "$(of_otlp 1 'r.resource["service.name"]')" = 'my app'
  check "label" "$(of_otlp 1 'r.resource["deployment.environment.name"]')" = staging
  check "host" "$(of_otlp 1 'r.resource["host.name"]')" = "$(uname -n)"
  check "process" "$(of_otlp 1 'int(r.resource["process.pid"]) > 0')" = True
  check "time" "$(of_otlp 1 'abs(int(r.profiles[0]["time_unix_nano"][0]) / 1e9 - __import__("time").time()) < 600')" = True
  check "functions have names" "$(of_otlp 1 'any("work" in s for _, s, _ in r.values(r.profiles[-1]))')" = True
  check "calls" "$(of_otlp 1 'sum(v for p in r.profiles if r.metric(p) == "calls" for v, _, _ in r.values(p))')" = \
    "$("$REPORT" --metric calls --self --format json "$profile" | grep -o '"kept":[0-9]*' | cut -d: -f2)"
fi

begin "an OTLP server's answers"
serve 503 200 400 500 partial remark
push --format otlp "$work/ready.out" "$url"
check "a busy server is tried again" $? = 0
push --format otlp "$work/ready.out" "$url"
check "a refusal is one" $? = 1
has_text 'HTTP 400: answer' "$dir/err" || fail "the server's reason is not shown: $(cat "$dir/err")"
push --format otlp "$work/ready.out" "$url"
check "an error that will not pass" $? = 1
check "is not tried again" "$(grep -c 'tried' "$dir/err")" = 0
push --format otlp --since-last "$work/ready.out" "$url"
check "a part that was refused" $? = 1
has_text "refused 2 of the profile's metrics: too old" "$dir/err" || fail "it does not say so: $(cat "$dir/err")"
push --format otlp --since-last "$work/ready.out" "$url"
check "was not remembered" $? = 0
has_text 'the server says: too old' "$dir/err" || fail "its remark is not shown: $(cat "$dir/err")"
check "six requests" -e "$dir/requests/6.json"
stop

begin "only what is new"
profiled "$PROGRAMS/sites.fentry" 2000
serve
push --since-last "$profile" "$url"
check "first push" $? = 0
push --since-last "$profile" "$url"
check "second push" $? = 0
check "nothing new is said" "$(cat "$dir/out")" = 'nothing new since the last push'
check "and nothing sent" ! -e "$dir/requests/2.json"
profiled "$PROGRAMS/sites.fentry" 3000
push --since-last "$profile" "$url"
check "another run is sent whole" -e "$dir/requests/2.json"

# cpu_of PROFILE: the sum, in ns.
cpu_of() { "$REPORT" --export folded --metric cpu "$1" | awk '{ ns += $NF } END { printf "%d", ns }'; }

begin "what was counted before a reset is not sent"
"$FBLE_PROF" -o "$profile" "$PROGRAMS/phases.plain" 60 work >/dev/null 2>&1 &
program=$!
sleep 0.8
"$FBLE_PROF" ctl "$profile" reset >"$dir/ctl.out" 2>&1 || fail "$(cat "$dir/ctl.out")"
sleep 0.3
kill -TERM "$program"
wait "$program" 2>/dev/null
serve
push "$profile" "$url"
check "status" $? = 0
check "its time is the report's" "$(cpu_of "$dir/requests/1.pprof")" = "$(cpu_of "$profile")"

begin "the times of a sampled run are sent"
"$FBLE_PROF" --exact=program --runs 2 -o "$profile" "$PROGRAMS/notes.plain" >/dev/null 2>&1
serve
push "$profile" "$url"
check "status" $? = 0
check "its time is the report's" "$(cpu_of "$dir/requests/1.pprof")" = "$(cpu_of "$profile")"

begin "a refused profile is not remembered"
profiled "$PROGRAMS/sites.fentry" 2000
serve 400
push --since-last "$profile" "$url"
check "status" $? = 1
has_text 'HTTP 400: answer' "$dir/err" || fail "the server's answer is not shown"
push --since-last "$profile" "$url"
check "it is sent again" -e "$dir/requests/2.json"

begin "a busy server is tried again"
serve 503 429 200
push "$work/ready.out" "$url/prefix/"
check "status" $? = 0
check "three requests" -e "$dir/requests/3.json"
check "the path is kept" "$(of 3 'r["path"]')" = /prefix/ingest
serve 500 500
push --retries 1 "$work/ready.out" "$url"
check "it gives up" $? = 1
has_text 'tried 2 times' "$dir/err" || fail "it does not say how often"

begin "nobody there"
stop
push --retries 1 "$work/ready.out" "$url"
check "status" $? = 1
has_text 'cannot be reached' "$dir/err" || fail "it does not say so"
check "one line" "$(wc -l <"$dir/err")" = 1

begin "a server that says nothing"
python3 -c 'import socket, sys, time
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
time.sleep(60)' >"$dir/port" &
server=$!
for ((i = 0; i < 100; i++)); do
  [ -s "$dir/port" ] && break
  sleep 0.1
done
push --timeout 1 --retries 0 "$work/ready.out" "http://127.0.0.1:$(cat "$dir/port")"
check "status" $? = 1
has_text 'in time' "$dir/err" || fail "it does not say so: $(cat "$dir/err")"
stop

begin "https, a redirect, a proxy"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
  -addext subjectAltName=IP:127.0.0.1 -keyout "$dir/key" -out "$dir/certificate" 2>/dev/null
TLS=$dir serve
push "$work/ready.out" "$url"
check "an unknown certificate is refused" $? = 1
has_text 'is not trusted' "$dir/err" || fail "it does not say so: $(cat "$dir/err")"
check "and not tried again" "$(grep -c 'tried' "$dir/err")" = 0
SSL_CERT_FILE=$dir/certificate push "$work/ready.out" "$url"
check "a known one is taken: $(cat "$dir/err")" $? = 0
check "it came by https" "$(of 1 'r["path"]')" = /ingest
serve redirect 200
push "$work/ready.out" "$url"
check "a redirect is followed: $(cat "$dir/err")" $? = 0
check "to its place" "$(of 2 'r["path"]')" = /elsewhere
check "with the profile" "$(of 2 '",".join(r["fields"])')" = profile,sample_type_config
serve redirect redirect redirect redirect redirect redirect redirect
push "$work/ready.out" "$url"
check "a circle of redirects ends" $? = 1
check "in one line" "$(wc -l <"$dir/err")" = 1
serve
http_proxy=$url push "$work/ready.out" http://profiles.invalid/base
check "a proxy is used: $(cat "$dir/err")" $? = 0
check "for the server" "$(of 1 'r["host"]')" = profiles.invalid
stop

begin "mistakes"
for arguments in "$work/ready.out" "$work/ready.out https://me:secret@127.0.0.1" "$work/ready.out ftp://x" "/nonexistent http://x" \
  "--label 9=x $work/ready.out http://x" "--timeout 0 $work/ready.out http://x" "--format otel $work/ready.out http://x" "--label a.b=c $work/ready.out http://x" "$work/ready.out http://x:port"; do
  # shellcheck disable=SC2086  # several arguments
  push $arguments
  check "status of push $arguments" $? = 2
  check "one line" "$(wc -l <"$dir/err")" = 1
done
"$FBLE_PROF" push --help >"$dir/out" || fail "no help"
for wrong in --no-such-option "$dir/nothing"; do
  "$FBLE_PROF" push "$wrong" http://127.0.0.1:1/ 2>/dev/full
  check "$wrong, and nobody can be told: status" $? = 2
done

begin "a large profile is cut to the server's limits"
scale=$BUILD/tests/bench/report_scale/report_scale
if [ -x "$scale" ]; then
  "$scale" generate 200000 4 "$dir/large"
  serve
  push --name large "$dir/large" "$url"
  check "status" $? = 0
  has_text 'contexts were charged to their callers' "$dir/err" || fail "it does not say so"
  check "bytes" "$(of 1 'r["bytes"] <= 4 << 20')" = True
  # The cost of cut contexts is charged to callers: the sum stays.
  total() { "$REPORT" --metric cpu --self --top 1 --format json --no-symbols "$1" | grep -o '"total":[0-9]*'; }
  check "the total" "$(total "$dir/requests/1.pprof")" = "$(total "$dir/large")"
  check "samples" "$(python3 - "$dir/requests/1.pprof" <<'END'
import sys
data, at, samples = open(sys.argv[1], "rb").read(), 0, 0
def varint():
    global at
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value
while at < len(data):
    tag = varint()
    samples += tag == 0x12  # Profile.sample
    length = varint()
    at += length if tag & 7 == 2 else 0
print(0 < samples <= 16000)
END
)" = True
  stop
else
  skip "no generator of large profiles was built"
fi
