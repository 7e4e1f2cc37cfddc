#!/usr/bin/env python3
"""A second reader of mlmon.out, written from format.h alone: an oracle for the report.

It names functions by `nm`, and takes the report's options for machines, so that a test can run
with it in the report's place:

mlmon.py --edges|--self|--summary|--verify|--paths|--raw [--format csv|json] FILE

--paths prints one line a node: its path from the root, "(back)" lines for back edges, with calls.
"""
import collections
import csv
import json
import os
import struct
import subprocess
import sys

UNIT = 32
MARK = 0xfb1e
ITEMS = 64  # where the items of a record begin
HEADER = struct.Struct("<8sHHIIIQQIIIIQQIIIIQQQHHHHIIIIQQQQQQQQII")
HEADER_NAMES = (
    "magic major_version minor_version header_bytes byte_order unit_bytes used_bytes cap_bytes "
    "state end_code pid parent_pid process_start_ticks pid_namespace executable command_line "
    "working_directory host start_realtime_ns start_monotonic_ns end_monotonic_ns clock "
    "compaction source flags rate_hz machine row_bytes generation overflow_contexts "
    "lost_threads lost_children foreign_signals process_cpu_ns node_count edge_count children "
    "depth_limit newest_module").split()
HEAD = struct.Struct("<IHH")
# By kind: the fields after the head.
RECORDS = {
    3: (struct.Struct("<IIQQQQQII"), "path build_id load_bias begin end loaded_ns unloaded_ns "
        "flags older".split()),
    4: (struct.Struct("<QIIIIIIIIHH"), "address size module name linkage_name file line column "
        "language kind flags".split()),
    5: (struct.Struct("<IIIHHHHI"), "name unit formula role aggregation place word flags".split()),
    6: (struct.Struct("<I"), ["text"]),
    9: (struct.Struct("<II16sQQQQQQQQQQ"),
        "tid flags name threads_served start_ns end_ns cpu_ns wall_ns samples dropped lost_calls "
        "deep_calls unmatched".split()),
    10: (struct.Struct("<III"), "thread root labels".split()),
}
MODULE, FUNCTION, METRIC, NOTE, THREAD, TREE_RECORD = 3, 4, 5, 6, 9, 10
STRING, NODES, EDGES, VALUES = 2, 11, 12, 13
ITEM_HEAD = struct.Struct("<II")  # tree, item_bytes
NODE = (struct.Struct("<QIIQIHB"), "calls parent function site values depth flags".split())
EDGE = (struct.Struct("<QIIQBB"), "calls from_ to site kind flags".split())
STATES = ["starting", "live", "ended", "execed", "fatal"]
SPECIALS = {2: "[root]", 3: "[overflow]", 4: "[unwound]", 5: "[truncated]", 6: "[instruction]",
            10: "[deeper]"}
NAMED = (1, 7, 8, 9)  # blocks, scripts, generated code, imports
CPU, OWN_COST = 1, 7  # roles
TREE, BACK, TAIL = 0, 1, 2


class Damage(Exception):
    pass


class Profile:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        if len(self.data) < HEADER.size or self.data[:8] != b"FBLEPROF":
            raise Damage("not a profile")
        self.header = dict(zip(HEADER_NAMES, HEADER.unpack_from(self.data)))
        self.limit = min(len(self.data), self.header["used_bytes"])
        self.records = collections.defaultdict(dict)  # by kind, by Ref
        self.strings = {}
        self.nodes, self.edges = {}, []
        self.read_records()
        self.threads = list(self.records[THREAD].values())
        self.notes = list(self.records[NOTE].values())
        self.finish_trees()
        self.symbols = {}

    def read_records(self):
        at = self.header["header_bytes"]
        while at + UNIT <= self.limit:
            units, kind, mark = HEAD.unpack_from(self.data, at)
            if units == 0 and mark == 0:
                at += UNIT
                continue
            if mark != MARK or units == 0 or at + units * UNIT > self.limit:
                raise Damage(f"no record at {at}")
            self.read_record(kind, at, units * UNIT)
            at += units * UNIT

    def read_record(self, kind, at, size):
        ref, body = at // UNIT, at + HEAD.size
        if kind == STRING:
            (length,) = struct.unpack_from("<I", self.data, body)
            self.strings[ref] = self.data[body + 4:body + 4 + length]
        elif kind in RECORDS:
            layout, names = RECORDS[kind]
            values = dict(zip(names, layout.unpack_from(self.data, body)), ref=ref)
            self.records[kind][ref] = values
        elif kind in (NODES, EDGES):
            tree, step = ITEM_HEAD.unpack_from(self.data, body)
            layout, names = NODE if kind == NODES else EDGE
            for item in range(at + ITEMS, at + size - step + 1, step):
                values = dict(zip(names, layout.unpack_from(self.data, item)),
                              ref=item // UNIT, tree=tree)
                if kind == NODES and values["function"]:
                    self.nodes[values["ref"]] = values
                elif kind == EDGES and values["to"]:
                    self.edges.append(values)

    def finish_trees(self):
        words = {}
        for metric in self.records[METRIC].values():
            if metric["place"] == 0:
                words.setdefault(metric["role"], metric["word"])
        for ref, node in self.nodes.items():
            for name, role in (("cpu_ns", CPU), ("overhead_ns", OWN_COST)):
                node[name] = 0
                word = words.get(role)
                if node["values"] and word is not None:
                    place = node["values"] * UNIT + word * 8
                    (node[name],) = struct.unpack_from("<Q", self.data, place)
            if node["parent"]:
                if node["parent"] not in self.nodes:
                    raise Damage(f"node {ref} has no parent")
                self.edges.append({"ref": ref, "kind": TREE, "from_": node["parent"], "to": ref,
                                   "calls": node["calls"], "site": node["site"],
                                   "flags": node["flags"]})

    def record(self, kind, ref):
        if ref not in self.records[kind]:
            raise Damage(f"a reference to {ref}, where no record of kind {kind} is")
        return self.records[kind][ref]

    def string(self, ref):
        if not ref:
            return b""
        if ref not in self.strings:
            raise Damage(f"a reference to {ref}, where no string is")
        return self.strings[ref]

    def module_symbols(self, module):
        """[(address, size, name)] of a module, by nm; the names a debugger prefers come first."""
        if module["ref"] not in self.symbols:
            path = os.fsdecode(self.string(module["path"]))
            table = {}
            for options in (["-D"], []):
                run = subprocess.run(["nm", "--defined-only", "-S", *options, path],
                                     capture_output=True, text=True)
                for line in run.stdout.splitlines():
                    words = line.split()
                    if len(words) == 4 and words[2] in "tTwWiV":
                        name = words[3].split("@")[0]
                        start = int(words[0], 16)
                        old = table.get(start)
                        if old is None or (old[1].startswith("_") and not name.startswith("_")):
                            table[start] = (int(words[1], 16), name)
            self.symbols[module["ref"]] = sorted((a, s, n) for a, (s, n) in table.items())
        return self.symbols[module["ref"]]

    def function_name(self, ref):
        function = self.record(FUNCTION, ref)
        if "title" not in function:
            function["title"] = self.find_name(function)
        return function["title"]

    def find_name(self, function):
        kind = function["kind"]
        if kind in NAMED and function["name"]:
            return self.string(function["name"]).decode(errors="replace")
        if kind in SPECIALS:
            return SPECIALS[kind]
        if function["module"]:
            module = self.record(MODULE, function["module"])
            address = function["address"] - module["load_bias"]
            symbols = self.module_symbols(module)
            low, high = 0, len(symbols)
            while low < high:
                middle = (low + high) // 2
                if symbols[middle][0] <= address:
                    low = middle + 1
                else:
                    high = middle
            if low:
                start, size, name = symbols[low - 1]
                if address == start or address < start + size:
                    return name
            base = os.path.basename(os.fsdecode(self.string(module["path"])))
            return f"{base}+{address:#x}"
        return f"{function['address']:#x}"

    def name(self, node):
        return self.function_name(self.nodes[node]["function"])

    def path(self, node):
        names = []
        while node:
            names.append(self.name(node))
            node = self.nodes[node]["parent"]
        return "/".join(reversed(names))

    def pairs(self):
        calls = collections.Counter()
        for edge in self.edges:
            calls[self.name(edge["from_"]), self.name(edge["to"])] += edge["calls"]
        return calls

    def self_times(self):
        """{name: [self ns, dominated ns, calls]}; dominated counts a path once."""
        rows = collections.defaultdict(lambda: [0, 0, 0])
        for ref, node in self.nodes.items():
            rows[self.name(ref)][0] += node["cpu_ns"]
            seen, at = set(), ref
            while at:
                seen.add(self.name(at))
                at = self.nodes[at]["parent"]
            for name in seen:
                rows[name][1] += node["cpu_ns"]
        for edge in self.edges:
            rows[self.name(edge["to"])][2] += edge["calls"]
        return rows

    def summary(self):
        header = {k: v for k, v in self.header.items() if k not in ("magic", "newest_module")}
        header["state"] = STATES[header["state"]]
        if header["state"] in ("starting", "live") and not self.alive():
            header["state"] = "killed"
        for key in ("executable", "command_line", "working_directory", "host"):
            header[key] = self.string(header[key]).decode(errors="replace").replace("\0", " ")
        header["threads"] = len(self.threads)
        for key in ("threads_served", "cpu_ns", "samples", "dropped", "lost_calls", "deep_calls",
                    "unmatched"):
            header[key] = sum(thread[key] for thread in self.threads)
        header["charged_ns"] = sum(n["cpu_ns"] + n["overhead_ns"] for n in self.nodes.values())
        header["overhead_ns"] = sum(n["overhead_ns"] for n in self.nodes.values())
        header["notes"] = [self.string(n["text"]).decode(errors="replace") for n in self.notes]
        return header

    def alive(self):
        """Whether the process that writes the file still runs."""
        try:
            with open(f"/proc/{self.header['pid']}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            return False
        return fields[0] != "Z" and int(fields[19]) == self.header["process_start_ticks"]

    def verify(self):
        """What is wrong, one line each."""
        header = self.header
        if header["major_version"] != 2 or header["byte_order"] != 0x01020304:
            yield "version or byte order"
        if header["used_bytes"] > header["cap_bytes"]:
            yield "more used than the cap allows"
        for edge in self.edges:
            source, target = self.nodes[edge["from_"]], self.nodes[edge["to"]]
            if edge["kind"] == BACK:
                at = edge["from_"]
                while at and at != edge["to"]:
                    at = self.nodes[at]["parent"]
                if not at:
                    yield f"back edge {edge['ref']} does not lead to an ancestor"
                parent = target["parent"]
                if header["compaction"] == 0 and (
                        not parent or self.nodes[parent]["function"] != source["function"]):
                    yield f"back edge {edge['ref']}: the parent of its end has another key"
        for ref, node in self.nodes.items():
            parent = node["parent"]
            if parent >= ref:
                yield f"node {ref} stands before its parent"
            if parent and self.nodes[parent]["depth"] + 1 != node["depth"]:
                yield f"node {ref} has a wrong depth"
            if header["compaction"] == 0 and parent:
                pairs, at = set(), ref
                while self.nodes[at]["parent"]:
                    above = self.nodes[at]["parent"]
                    pair = (self.nodes[above]["function"], self.nodes[at]["function"])
                    if pair in pairs:
                        yield f"a pair stands twice on the path of node {ref}"
                        break
                    pairs.add(pair)
                    at = above
        charged = collections.Counter()
        for node in self.nodes.values():
            thread = self.record(TREE_RECORD, node["tree"])["thread"]
            charged[thread] += node["cpu_ns"] + node["overhead_ns"]
        for thread in self.threads:
            total = charged[thread["ref"]]
            if header["clock"] == 0 and header["state"] in (2, 3) and total != thread["cpu_ns"]:
                yield f"thread {thread['tid']}: {total} ns charged, its clock says {thread['cpu_ns']}"


def write_csv(columns, rows):
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)


def main():
    options = [a for a in sys.argv[1:] if a.startswith("--")]
    files = [a for a in sys.argv[1:] if not a.startswith("--") and a not in ("csv", "json")]
    if len(files) != 1 or not options:
        sys.exit(__doc__)
    try:
        profile = Profile(files[0])
    except Damage as damage:
        sys.exit(f"{files[0]}: {damage}")
    view = options[0]
    if view == "--edges":
        cost = {}
        write_csv(["caller", "callee", "calls", "cost"],
                  ([a, b, n, cost.get((a, b), 0)] for (a, b), n in profile.pairs().items()))
    elif view == "--self":
        write_csv(["name", "self", "dominated", "calls"],
                  ([name, *row] for name, row in profile.self_times().items()))
    elif view == "--summary":
        print(json.dumps(profile.summary(), indent=1))
    elif view == "--verify":
        wrong = list(profile.verify())
        print("\n".join(wrong) or "ok")
        sys.exit(2 if wrong else 0)
    elif view == "--raw":
        for ref, node in sorted(profile.nodes.items()):
            print(ref, node)
        for thread in profile.threads:
            print(thread)
    elif view == "--paths":
        marks = {TREE: "", BACK: " (back)", TAIL: " (tail)"}
        lines = [f"{profile.path(e['from_'])}/{profile.name(e['to'])}{marks[e['kind']]} {e['calls']}"
                 for e in profile.edges]
        print("\n".join(sorted(lines)))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
