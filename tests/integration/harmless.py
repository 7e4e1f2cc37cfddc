"""harmless.py REPORT PROFILE BASE: in no view and no export does a name act on what reads it: a
terminal, a spreadsheet, a browser or a parser. Prints each view in which one does."""
import concurrent.futures
import csv
import html.parser
import json
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

REPORT, PROFILE, BASE = sys.argv[1:]
# Controls, zero widths, directions: characters that move the cursor or change the visible text.
HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
VIEWS = ("--tree --all --lines,--tree --inlines,--tree --split-by thread,--hot,--overview,--metrics,--self,"
         "--dominated,--edges,--cliques,--cliques=context,--call-sites,--coverage,--summary,--threads,"
         "--verify,--block=main,--path=main,--annotate=main,--annotate=re:work,--by module,--by file,"
         "--by namespace,--by class,--by thread,--by process,--self --diff BASE,--tree --diff BASE")


def text(shown):
    found = HARMFUL.search(shown)
    if found:
        return f"character {found.group()!r} in {shown[max(0, found.start() - 30):found.end()]!r}"
    return "a name began a line" if re.search("^INJECTED", shown, re.MULTILINE) else ""


def coloured(shown):
    return "a name's colour" if "\x1b[31mred" in shown else text(COLOUR.sub("", shown))


def as_csv(shown):
    for row in csv.reader(shown.splitlines()):
        for cell in row:
            if cell[:1] in tuple("=+-@\t\r") and not re.fullmatch(r"-?[0-9.]+", cell):
                return f"a formula: {cell!r}"
    return text(shown)


def as_json(shown):
    json.loads(shown)
    return text(shown)


def as_xml(shown):
    xml.etree.ElementTree.fromstring(shown)
    return text(shown)


class Page(html.parser.HTMLParser):
    wrong = ""

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name.startswith("on") or (value or "").strip().lower().startswith("javascript:"):
                self.wrong = f"<{tag} {name}={value}>"


def as_html(shown):
    page = Page()
    page.feed(shown)
    if page.wrong:
        return page.wrong
    return "a name became a tag" if "<script>alert" in shown or "<img src=x" in shown else text(shown)


def folded(shown):
    wrong = [line for line in shown.splitlines() if not re.fullmatch(r".+ [0-9]+", line)]
    return f"no stack: {wrong[0]!r}" if wrong else text(shown)


EXPORTS = {"callgrind": text, "csv": as_csv, "dot": text, "firefox": as_json, "folded": folded,
           "graphml": as_xml, "html": as_html, "json": as_json, "speedscope": as_json, "svg": as_xml}


def wrong_with(case):
    words, check = case
    command = [REPORT, *words, PROFILE]
    run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    try:
        problem = check(run.stdout.decode()) or text(run.stderr.decode())
    except (ValueError, xml.etree.ElementTree.ParseError) as failure:
        problem = f"not readable: {failure}"
    if run.returncode != 0 or not run.stdout:
        problem = f"status {run.returncode}: {run.stderr!r}"
    return f"{' '.join(words)}: {problem}" if problem else ""


def cases():
    for view in VIEWS.replace("BASE", BASE).split(","):
        words = view.split()
        yield [*words, "--colour", "never"], text
        yield [*words, "--colour", "always"], coloured
        yield [*words, "--format", "csv"], as_csv
        yield [*words, "--format", "json"], as_json
    yield ["--raw"], text
    for name, check in EXPORTS.items():
        if name != "svg" or shutil.which("dot"):
            yield ["--export", name] + ["--all"] * (name in ("dot", "svg")), check


with concurrent.futures.ThreadPoolExecutor(2) as pool:
    found = [problem for problem in pool.map(wrong_with, cases()) if problem]
print(*found, sep="\n")
sys.exit(1 if found else 0)
