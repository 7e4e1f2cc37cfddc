#!/usr/bin/env python3
"""serve.py REPORT LIB FBLE_PROF PROGRAMS WORK: starts servers, asks them what browsers and attackers ask."""
import atexit
import html
import http.client
import json
import os
import pty
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from urllib.parse import quote

report, lib, launcher, programs, work = sys.argv[1:6]
os.chdir(work)
failed = []


def check(what, got, wanted):
    if got != wanted:
        failed.append(what)
        print(f"FAIL {what}: {str(got)[:300]!r}, not {str(wanted)[:300]!r}")


class Served:
    """A server, and a browser that opened its link."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([report, "--serve", *arguments], stdout=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)
        self.link = self.process.stdout.readline().strip()
        match = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=([0-9a-f]{32})", self.link)
        if not match:
            raise SystemExit(f"no link: {self.link!r}")
        self.port, self.token = int(match[1]), match[2]
        self.cookie = f"fbleprof_{self.port}={self.token}"

    def ask(self, path, headers=None, method="GET", cookie=True):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        all_headers = dict(headers or {})
        if cookie:
            all_headers["Cookie"] = self.cookie
        connection.request(method, path, headers=all_headers)
        response = connection.getresponse()
        body = response.read().decode()
        connection.close()
        return response.status, body, response

    def raw(self, data):
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
            answer = b""
            try:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # it has answered already
            try:
                while part := connection.recv(65536):
                    answer += part
            except OSError:
                pass
        return answer

    def stop(self, how=signal.SIGINT):
        self.process.send_signal(how)
        return self.process.wait(20)


def rows(served, path):
    status, body, _ = served.ask(path + ("&" if "?" in path else "?") + "format=json")
    check(f"status of {path}", status, 200)
    return json.loads(body).get("rows", []) if status == 200 else []


with open("folded", "w", encoding="utf-8") as file:
    file.write("main;parse;lex 40\nmain;parse;<script>alert(1)</script> 30\n"
               "main;run;a\"b'c<i>& 20\nmain;run 10\nmain;" + "x" * 10000 + " 5\nmain;a\u202eb 5\n")
with open("before", "w", encoding="utf-8") as file:
    file.write("main;parse;lex 20\nmain;run 10\n")

server = Served("--diff", "before", "folded")

# The link gives the token to the browser, and takes it out of the address.
status, _, response = server.ask(f"/?token={server.token}", cookie=False)
check("the link's status", status, 303)
check("where the link leads", response.getheader("Location"), "/overview")
check("the cookie", response.getheader("Set-Cookie"),
      f"{server.cookie}; HttpOnly; SameSite=Lax; Path=/")
check("a page without a token", server.ask("/self", cookie=False)[0], 401)
check("a bearer's token", server.ask("/self", {"Authorization": f"Bearer {server.token}"}, cookie=False)[0], 200)
check("JSON by token", server.ask(f"/self?format=json&token={server.token}", cookie=False)[0], 200)

# All pages, in HTML and, where they have it, in JSON.
for page in ("overview flame tree self dominated edges cliques modules threads diff exports hot "
             "metrics summary coverage call-sites by/file by/thread cliques/context flame?inverted=1 "
             "find?q=lex waits memory verify").split():
    status, body, response = server.ask("/" + page)
    check(f"/{page}", status, 200)
    check(f"type of /{page}", response.getheader("Content-Type"), "text/html; charset=utf-8")
    check(f"names in /{page}", "<script>alert" in body or 'a"b' in body or "\u202e" in body, False)
    check(f"size of /{page}", len(body) < 200_000, True)
    check(f"policy of /{page}", "script-src 'self'" in response.getheader("Content-Security-Policy"), True)
    check(f"styles in /{page}", " style=" in body, False)
status, body, _ = server.ask("/self", {"Accept": "application/json"})
check("JSON by Accept", json.loads(body)["schema"], "fbleprof/1")
check("JSON as on the command line", json.loads(body)["rows"],
      json.loads(subprocess.run([report, "--self", "--format", "json", "folded"], capture_output=True,
                                check=True, text=True).stdout)["rows"])

# Links name functions; lists change the figures, and can be taken back.
ids = {row["name"]: row["id"] for row in rows(server, "/find?q=")}
check("names", sorted(name[:8] for name in ids)[:3], ["<script>", "[root]" if "[root]" in ids else "a\"b'c<i>", "a\\u202eb"])
lex, parse = ids["lex"], ids["parse"]
long = next(row for row in rows(server, "/find?q=xxx"))
check("a long name is cut, whole beside it", (len(long["name"]) < 100, 1000 < len(long["whole"]) < 2010), (True, True))
check("a function's page", server.ask(f"/block/{lex}")[0], 200)
check("selected", {r["name"] for r in rows(server, f"/self?sel={lex}")}, {"main", "parse", "lex"})
check("excluded", "parse" in {r["name"] for r in rows(server, f"/self?exc={parse}")}, False)
folded_rows = {r["name"]: r["self"] for r in rows(server, f"/self?fold={lex}")}
check("folded", folded_rows["parse"], 40)
check("a name on a list", {r["name"] for r in rows(server, "/self?sel=lex")}, {"main", "parse", "lex"})
body = server.ask(f"/self?sel={parse}&exc={lex}")[1]
check("the command", "fble-prof-report --self --select parse --exclude lex folded" in body, True)
check("undo leads back", f'<a class=undo data-key=u href="/self?sel={parse}"' in body, True)
check("a wrong pattern keeps its chip", "class=&quot;" in server.ask("/self?sel=re%3A(")[1], False)
check("a wrong pattern", server.ask("/self?sel=re%3A(")[0], 400)
check("a walk", server.ask(f"/path/{parse},{lex}")[0], 200)
changed = {r["name"]: (r["base_self"], r["self"]) for r in rows(server, "/self?base=before")}
check("a comparison", changed["lex"], (20, 40))
tree = server.ask("/tree?base=before")[1]
check("chance is no change in the tree", "<td class=\"num dim\">~" in tree, True)
check("how large chance is", "chance alone makes ±" in tree and "chance alone makes ±" in server.ask("/flame?base=before")[1], True)
flame = json.loads(server.ask("/flame?base=before&format=json")[1])
lex_at = flame["down"]["function"].index(flame["functions"]["name"].index("lex"))
check("chance is no change in the flame graph", flame["down"]["flags"][lex_at] & 16, 16)
flame = json.loads(server.ask(f"/flame?pivot={parse}&format=json")[1])
check("around a function", (flame["down"]["cost"][0], len(flame["up"]["cost"])), (70, 2))
status, body, response = server.ask("/export/folded")
check("an export", (status, "main;parse;lex 40" in body), (200, True))

# Invalid requests get a status of their own.
for path, wanted in (("/nothing", 404), ("/self?n=0", 400), ("/%zz", 400), ("/export/nothing", 404),
                     ("/assets/../serve.cc", 404), ("/assets/nothing", 404), ("/block/nothing", 200),
                     ("/self?base=/etc/passwd", 404), ("/self?metric=nothing", 400), ("/raw", 404),
                     ("/source/lex", 200), ("/tree?at=12345", 200), ("/self?keep=((", 400),
                     ("//etc/passwd", 404)):
    check(path, server.ask(path)[0], wanted)
check("a forwarded port", server.ask("/self", {"Host": "localhost:9"})[0], 200)
check("another host", server.ask("/self", {"Host": f"evil.example:{server.port}"})[0], 421)
check("another site", server.ask("/self", {"Origin": "http://evil.example"})[0], 403)
check("another site's script", server.ask("/self", {"Sec-Fetch-Site": "cross-site"})[0], 403)
check("a post from nowhere", server.ask("/mark", method="POST")[0], 403)
own = {"Origin": f"http://127.0.0.1:{server.port}"}
check("a command for no program", server.ask("/control/stop", own, method="POST")[0], 409)
check("another method", server.ask("/self", method="DELETE")[0], 405)
check("a head", server.ask("/self", method="HEAD")[:2], (200, ""))
head = server.raw(f"HEAD /events HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {server.cookie}\r\nConnection: close\r\n\r\n".encode())
check("a stream's head", (b"text/event-stream" in head, head[-4:]), (True, b"\r\n\r\n"))
for what, data, wanted in (("garbage", b"\x16\x03\x01\x00garbage\r\n\r\n", b" 400 "),
                           ("no host", b"GET / HTTP/1.1\r\n\r\n", b" 400 "),
                           ("long headers", b"GET / HTTP/1.1\r\nA: " + b"a" * 100000 + b"\r\n\r\n", b" 431 "),
                           ("two hosts", b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b" 400 ")):
    answer = server.raw(data)
    check(what, wanted in answer[:20], True)
for part in (b"", b"G", b"GET /self HTTP/1.1\r\nHost: 127", b"\r\n\r\n" * 1000):
    server.raw(part)

# Hundreds at once, all answered.
results = []
def many(number):
    try:
        results.append(server.ask(f"/self?n={number % 7 + 1}")[0])
    except OSError as error:
        results.append(str(error))
threads = [threading.Thread(target=many, args=(i,)) for i in range(300)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
check("300 at once", set(results), {200})
idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(200)]
check("beside 200 that say nothing", server.ask("/self")[0], 200)
check("Ctrl-C ends it", server.stop(), 0)

# Without descriptors for more connections it waits, and answers when there are some again.
def is_sanitized():
    with open(report, "rb") as file:
        return b"__ubsan_handle" in file.read()


def ticks(process):
    with open(f"/proc/{process.pid}/stat", encoding="utf-8") as file:
        return sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13]))


# UBSan takes descriptors itself, to find out whether memory can be read.
if not is_sanitized():
    server = Served("folded")
    limits = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (5, limits[1]))
    waiting = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(20)]
    before = ticks(server.process)
    time.sleep(2)
    check("no work without descriptors", ticks(server.process) - before < 50, True)
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, limits)
    check("an answer afterwards", server.ask("/self")[0], 200)
    check("its end", server.stop(), 0)

# What a search found can be put on a list as one.
with open("searched", "w", encoding="utf-8") as file:
    file.writelines(f"main;{name} 10\n" for name in (
        "Parser::Parse(char*)", "Parser::parse", "parse", "sparse_set", "PARSE_ALL", "Parser", "charge", "module"))
server = Served("searched")
everything = {row["name"] for row in rows(server, "/self")}
for text in ("parse", "Parser::", "*::parse", "Parse(", "module"):
    searched = rows(server, f"/find?q={quote(text)}")
    link = re.search('class="button exc" href="/overview([^"]*)"', server.ask(f"/find?q={quote(text)}")[1])
    check(f"a list of {text} is offered", link is not None, len(searched) > 1)
    if link:
        left = {row["name"] for row in rows(server, "/self" + html.unescape(link[1]))}
        check(f"all of {text}", everything - left, {row["name"] for row in searched})
check("no pattern is both a glob and a part of other names",
      (len(rows(server, "/find?q=char*")), "all of them" in server.ask("/find?q=char*")[1]), (2, False))
check("its end", server.stop(), 0)

# What a page shows of one thread, its command shows in a terminal.
subprocess.run([os.path.join(programs, "crowded.plain"), "2"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
               env={**os.environ, "LD_PRELOAD": lib, "FBLEPROF_OUT": os.path.abspath("crowd.out")}, check=True)
server = Served("crowd.out")
one = rows(server, "/by/thread")[0]["name"]
for page in ("self", "modules", "by/file", "by/thread", "by/process"):
    shown = server.ask(f"/{page}?thread={quote(one)}")[1]
    command = html.unescape(re.search("id=command>(.*?)</code>", shown, re.DOTALL)[1])
    words = subprocess.run(["bash", "-c", "printf '%s\\0' " + command], capture_output=True, check=True).stdout
    ran = subprocess.run([report, *words.decode().split("\0")[1:-1], "--format", "json"], capture_output=True, text=True)
    check(f"the command of /{page} runs", (ran.returncode, ran.stderr), (0, ""))
    if ran.returncode == 0:
        check(f"it shows the rows of /{page}", json.loads(ran.stdout)["rows"], rows(server, f"/{page}?thread={quote(one)}"))
check("its end", server.stop(), 0)

# A shell reads the shown command back, whatever the file is called.
for name in ("it's", "two\nlines", "q'\t\\ \u202e\u00e9 $x"):
    shutil.copy("folded", name)
    server = Served(name)
    command = html.unescape(re.search("id=command>(.*?)</code>", server.ask("/self")[1], re.DOTALL)[1])
    words = subprocess.run(["bash", "-c", "printf '%s\\0' " + command], capture_output=True, check=True).stdout
    check(f"the command of {name!r}", words.decode().split("\0")[:-1], ["fble-prof-report", "--self", name])
    check(f"one line of {name!r}", "\n" in command or "\u202e" in command, False)
    check("its end", server.stop(), 0)

# Each route, of each kind of profile: hooks, --exact, memory, several processes in one.
def record(out, program, *options, **environment):
    subprocess.run([launcher, "--out", out, *options, *program], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, **environment})


ROUTES = ("overview flame flame?inverted=1 tree self dominated edges cliques cliques/context modules threads waits "
          "memory windows diff exports hot metrics summary coverage call-sites verify allocations by/file by/namespace "
          "by/class by/thread by/process by/host find?q=a find block/main path/main source/main annotate/main raw "
          "flame?base=@.. diff?base=@.. tree?base=@.. self?base=@.. flame?at=1 tree?at=1 block/NAME path/NAME,NAME source/NAME "
          "flame?pivot=NAME self?sel=NAME self?exc=NAME self?fold=NAME tree?keep=from(main)").split()
WANTED = {"raw": {404}, "path/main": {200, 404}, "block/main": {200, 404}, "annotate/main": {200, 404},
          "source/main": {200, 404}, "source/NAME": {200, 404}}


def ask_all(what, files):
    one = Served(*files)
    names = [row["id"] for row in rows(one, "/find?q=")][:2]
    metrics = [row["name"] for row in rows(one, "/metrics") if row["total"]]
    for route in ROUTES:
        for suffix in ("", "format=json"):
            for name in names if "NAME" in route else [""]:
                path = "/" + route.replace("NAME", name)
                path += ("&" if "?" in path else "?") + suffix if suffix else ""
                status = one.ask(path)[0]
                has_json = not suffix or route.split("?")[0] not in ("diff", "exports", "waits", "memory", "find")
                good = WANTED.get(route, {200}) if has_json else {200, 404}
                check(f"{path} of {what}", status in good or status, True)
    for metric in metrics:
        for page in ("overview", "flame", "dominated", "memory"):
            check(f"/{page} of {what} in {metric}", one.ask(f"/{page}?metric={metric}")[0], 200)
    for row in json.loads(one.ask("/cliques?format=json")[1]).get("rows", []):
        check("a clique's metric", isinstance(row, dict), True)
    check(f"the server of {what} lives", one.process.poll(), None)
    check(f"the end of {what}", one.stop(), 0)
    return metrics


record("hooked.out", [f"{programs}/notes.fentry", "mutual"], "--leaves", "--callsites")
ask_all("a hooked program", ["hooked.out"])
# A program with debug information: its source beside what each line costs.
project = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
subprocess.run(["gcc", "-O1", "-g", f"-I{project}/libprof/include", f"{project}/tests/programs/phases.c", "-o", "phases"],
               check=True)
for options in (["--leaves"], []):
    record("source.out", ["./phases", "0.4"], *options)
    server = Served("source.out")
    name = next(row["id"] for row in rows(server, "/find?q=first") if row["name"] == "first")
    status, body = server.ask(f"/source/{name}")[:2]
    check(f"the source page with {options}", status, 200)
    check(f"it has the source with {options}", "sum += (unsigned)i;" in body, bool(options))
    check(f"and the instructions with {options}", "<summary>Instructions" in body, bool(options))
    check(f"it says what is missing with {options}", "--leaves" in body, not options)
    check(f"its JSON with {options}", server.ask(f"/source/{name}?format=json")[0], 200 if options else 404)
    check("the server ends", server.stop(), 0)
record("exact.out", [f"{programs}/exact_entries.plain"], "--exact")
ask_all("a rewritten program", ["exact.out"])
record("allocated.out", [f"{programs}/allocates.fentry", "containers"], "--memory-profile=exact")
check("the peak is a metric", "peak" in ask_all("a memory profile", ["allocated.out"]), True)
ask_all("several profiles", ["hooked.out", "exact.out"])

# A profile that appears, or is written again, beside a running server is offered with its present
# content; what has only a profile's name is not.
os.mkdir("beside")
shutil.copy("hooked.out", "beside/first")
server = Served("beside/first")
check("nothing to compare with", "No other profile is known" in server.ask("/diff")[1], True)
with open("beside/mlmon.out.txt", "w", encoding="utf-8") as file:
    file.write("no profile\n")
os.mkfifo("beside/mlmon.out.fifo")
shutil.copy("hooked.out", "beside/again.bin")
body = server.ask("/diff")[1]
check("a new profile is offered", ("again.bin" in body, "mlmon.out.txt" in body), (True, False))
for name, age in (("first.old", 3000), ("oldest", 2000), ("newer", 1000)):
    shutil.copy("hooked.out", f"beside/{name}")
    os.utime(f"beside/{name}", (time.time() - age,) * 2)
check("the run before, then the newest", re.findall(r">beside/([\w.]+) \(", server.ask("/diff")[1]),
      ["first.old", "again.bin", "newer", "oldest"])


def base_total():
    compared = server.ask("/dominated?base=beside%2Fagain.bin&metric=calls&format=json")
    return sum(row["base_self"] for row in json.loads(compared[1])["rows"])


before = base_total()
check("compared with itself", before > 0, True)
shutil.copy("exact.out", "beside/again.bin")
check("compared with what was written since", base_total() != before, True)
os.remove("beside/again.bin")
shutil.copy("exact.out", "beside/newer")
total = json.loads(server.ask("/dominated?metric=calls&format=json")[1])["total"]
os.rename("beside/newer", "beside/first")
check("the served file's new content", json.loads(server.ask("/dominated?metric=calls&format=json")[1])["total"] != total, True)
check("a profile that is gone", server.ask("/dominated?base=beside%2Fagain.bin")[0], 404)
check("its end", server.stop(), 0)

# The peak's snapshot divides the run.
server = Served("allocated.out")
moments = rows(server, "/windows")
check("the peak's snapshot", [row["reason"] for row in moments], ["peak"])
number = moments[0]["number"]


def calls(path):
    return json.loads(server.ask(path + "&metric=calls&format=json")[1])["total"]


whole, before, after = calls("/self?"), calls(f"/self?to=%23{number}"), calls(f"/self?from=peak")
check("two windows are the run", (before + after, before > 0, after > 0), (whole, True, True))
check("a window's chip", "only since peak" in server.ask("/self?from=peak")[1], True)
check("a window's command", "--window peak.. allocated.out" in server.ask("/self?from=peak")[1], True)
check("links keep it", "/block/" in server.ask("/self?from=peak")[1] and "from=peak" in server.ask("/self?from=peak")[1], True)
two = json.loads(server.ask(f"/self?from=peak&base=@..peak&metric=calls&format=json")[1])
check("two windows side by side", two["view"], "diff-self")
for path in ("/self?from=nothing", "/self?from=peak&to=start", "/self?to=0ns", "/self?base=@peak", "/self?base=@x.."):
    status, body, _ = server.ask(path)
    check(f"{path} is told", (status in (400, 404), "role=alert" in body), (True, True))
check("its end", server.stop(), 0)


def start_live(out):
    """A program without an end, and some time of it in its profile."""
    started = subprocess.Popen(["perl", "-e", "for (;;) { $x = sqrt($x + 1) }"],
                               env={**os.environ, "LD_PRELOAD": lib, "FBLEPROF_OUT": os.path.abspath(out)})
    atexit.register(started.kill)
    for _ in range(100):
        time.sleep(0.1)
        if os.path.exists(out) and os.path.getsize(out) > 0:
            break
    time.sleep(0.5)
    return started


# The browser that is opened for a user at a screen is not the server's: it survives Ctrl-C, and keeps no socket.
os.mkdir("bin")
with open("bin/xdg-open", "w", encoding="utf-8") as file:
    file.write('#!/bin/sh\n{ cut -d" " -f5,6 /proc/$$/stat; ls -l /proc/$$/fd; } >opened.now\nmv opened.now opened\n')
os.chmod("bin/xdg-open", 0o755)
terminal, its_program = pty.openpty()
process = subprocess.Popen([report, "--serve", "folded"], stdin=subprocess.DEVNULL, stdout=its_program,
                           env={**os.environ, "DISPLAY": ":1", "PATH": os.path.abspath("bin") + ":" + os.environ["PATH"]})
atexit.register(process.kill)
for _ in range(100):
    if os.path.exists("opened"):
        break
    time.sleep(0.1)
with open("opened", encoding="utf-8") as file:
    group, session = file.readline().split()
    check("the browser's group", (int(group) != os.getpgid(process.pid), int(session) != os.getsid(process.pid)), (True, True))
    check("what it inherits", "socket:" in file.read(), False)
process.send_signal(signal.SIGINT)
check("the end of the server that opened it", process.wait(20), 0)
os.close(terminal)
os.close(its_program)

# A stopped program adds nothing, but snapshots of it are new.
program = start_live("stopped.out")
program.send_signal(signal.SIGSTOP)
server = Served("stopped.out")
own = {"Origin": f"http://127.0.0.1:{server.port}"}
check("no snapshots", "there are no snapshots" in server.ask("/windows")[1], True)
for number in (1, 2):
    check("a snapshot", server.ask("/control/snapshot/windows", own, method="POST")[0], 303)
    for _ in range(50):
        if f"#{number} " in (body := server.ask("/windows")[1]):
            break
        time.sleep(0.1)
    check(f"snapshot {number} is shown", f"#{number} " in body, True)
program.kill()
check("its end", server.stop(), 0)

# A program that runs, grows, and is killed.
os.mkdir("live")
program = start_live("live/mlmon.out")
os.mkdir("temporary")
os.environ["TMPDIR"] = os.path.abspath("temporary")
server = Served("live")
first = json.loads(server.ask("/self?format=json")[1])["total"]
check("live", "class=\"badge live\"" in server.ask("/overview")[1], True)
stream = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
stream.request("GET", "/events", headers={"Cookie": server.cookie})
events = stream.getresponse()
check("events", events.getheader("Content-Type"), "text/event-stream")

def next_event():
    while True:
        line = events.fp.readline().decode()
        if line.startswith("data:"):
            return json.loads(line[5:])

def next_stop():
    while "start" not in (actions := next_event()["actions"]):
        pass
    return actions

present = next_event()
check("the present state comes first", (present["live"], present["actions"]), (True, "stop snapshot reset"))
said = next_event()
check("it goes on", said["live"], True)
check("it grew", json.loads(server.ask("/self?format=json")[1])["total"] > first, True)
own = {"Origin": f"http://127.0.0.1:{server.port}"}
check("a mark", server.ask("/mark", own, method="POST")[0], 303)
check("a button leads back to its page", server.ask("/control/snapshot/self?sort=calls", own, method="POST")[2].getheader("Location"),
      "/self?sort=calls")
check("a command that is no news", server.ask("/control/start/self", own, method="POST")[0], 303)
check("an unknown command", server.ask("/control/hop/self", own, method="POST")[0], 409)
check("stopping is an event", [server.ask("/control/stop/self", own, method="POST")[0], next_stop()], [303, "start snapshot reset"])
check("and going on", server.ask("/control/start/self", own, method="POST")[0], 303)
time.sleep(0.3)
check("and to no other site", server.ask("/control/snapshot//evil.example", own, method="POST")[2].getheader("Location")[:2] != "//", True)
time.sleep(0.3)
marked = json.loads(server.ask("/self?base=mark1&format=json")[1])
check("since now leads to the page", server.ask("/mark/self?sort=calls", own, method="POST")[2].getheader("Location"),
      "/self?from=mark2&sort=calls")
time.sleep(1.2)
since = json.loads(server.ask("/self?from=mark2&format=json")[1])["total"]
check("since now is a part", 0 < since < json.loads(server.ask("/self?format=json")[1])["total"], True)

def total(window):
    return json.loads(server.ask(f"/self?{window}&format=json")[1])["total"]

# The program works all the time. Its second snapshot is between the marks, some time after the first one.
for end in ("mark2", "%232"):
    parts = total("to=mark1"), total(f"from=mark1&to={end}")
    check(f"the parts before {end}", min(parts) > 0, True)
    check(f"from a mark to {end}", sum(parts), total(f"to={end}"))
parts = total("to=%232"), total("from=%232&to=mark2")
check("the parts around a snapshot", min(parts) > 0, True)
check("from a snapshot to a mark", sum(parts), total("to=mark2"))
for path in ("/self?from=mark2&to=mark1", "/self?from=mark2&to=%232", "/self?from=mark1&to=nothing"):
    check(path, server.ask(path)[0], 400)
check("the marks' chip", "only since mark 2 at" in server.ask("/self?from=mark2")[1], True)
check("since the mark", sum(r["self"] for r in marked["rows"]) >= sum(r["base_self"] for r in marked["rows"]), True)
program.send_signal(signal.SIGKILL)
program.wait()
while said["live"]:
    said = next_event()
body = server.ask("/overview")[1]
check("killed", ">killed</span>" in body, True)
check("what it did stays", json.loads(server.ask("/self?format=json")[1])["total"] > first, True)
check("it has marks", len(os.listdir("temporary")), 1)
server.process.send_signal(signal.SIGHUP)
check("a closed terminal ends it", server.stop(signal.SIGHUP), 0)
check("with its marks", os.listdir("temporary"), [])
server = Served("folded")
check("another server", server.ask("/self")[0], 200)
check("SIGTERM ends it", server.stop(signal.SIGTERM), 0)
sys.exit(1 if failed else 0)
