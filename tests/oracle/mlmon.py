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
HEADER = struct.Struct("<8sIIIIQQIIIIQQIIIIQQQHHHHII6IQQQQQQQ")
HEADER_NAMES = (
    "magic version header_bytes byte_order unit_bytes used_bytes cap_bytes state end_code pid "
    "parent_pid process_start_ticks pid_namespace executable command_line working_directory host "
    "start_realtime_ns start_monotonic_ns end_monotonic_ns clock compaction source flags rate_hz "
    "machine first_thread first_module first_function first_metric first_note first_label "
    "overflow_contexts lost_threads lost_children foreign_signals process_cpu_ns node_count "
    "edge_count").split()
MODULE = (struct.Struct("<IIQQQQQIIQ"),
          "next path load_bias begin end loaded_ns unloaded_ns build_id flags reserved".split())
FUNCTION = (struct.Struct("<QIIIIIHH"), "address size module next name file kind flags".split())
NODE = (struct.Struct("<IIIIIIQQQQQ"), "parent first_edge function depth extra number samples "
        "cpu_ns wall_ns overhead_ns ticks".split())
EDGE = (struct.Struct("<QQIIIBBH"), "calls site from_ to next kind flags reserved".split())
THREAD = (struct.Struct("<IIII16sQQQQQQQQQQ16x"),
          "next root tid flags name threads_served start_ns end_ns cpu_ns wall_ns samples dropped "
          "lost_calls deep_calls unmatched".split())
NOTE = (struct.Struct("<II24x"), "next text".split())
STATES = ["starting", "live", "ended", "execed", "fatal"]
SPECIALS = {2: "[root]", 3: "[overflow]", 4: "[unwound]", 5: "[truncated]", 6: "[instruction]"}
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
        self.records = {}
        self.modules = self.chain(MODULE, "first_module")
        self.functions = self.chain(FUNCTION, "first_function")
        self.threads = self.chain(THREAD, "first_thread")
        self.notes = self.chain(NOTE, "first_note")
        self.nodes, self.edges = {}, []
        self.read_trees()
        self.symbols = {}

    def record(self, kind, ref):
        key = (kind[0], ref)
        if key not in self.records:
            offset = ref * UNIT
            if offset < self.header["header_bytes"] or offset + kind[0].size > self.limit:
                raise Damage(f"a reference to {offset}, outside of what was allocated")
            values = dict(zip(kind[1], kind[0].unpack_from(self.data, offset)))
            values["ref"] = ref
            self.records[key] = values
        return self.records[key]

    def string(self, ref):
        if not ref:
            return b""
        offset = ref * UNIT
        (length,) = struct.unpack_from("<I", self.data, offset)
        if offset + 4 + length > self.limit:
            raise Damage(f"a string at {offset} longer than the file")
        return self.data[offset + 4:offset + 4 + length]

    def chain(self, kind, head):
        found, seen, ref = [], set(), self.header[head]
        while ref:
            if ref in seen:
                raise Damage(f"a loop in the list {head}")
            seen.add(ref)
            found.append(self.record(kind, ref))
            ref = found[-1]["next"]
        return found

    def read_trees(self):
        for thread in self.threads:
            pending = [thread["root"]] if thread["root"] else []
            while pending:
                ref = pending.pop()
                if ref in self.nodes:
                    continue
                node = self.nodes[ref] = self.record(NODE, ref)
                node["edges"] = []
                edge = node["first_edge"]
                while edge:
                    values = self.record(EDGE, edge)
                    node["edges"].append(values)
                    self.edges.append(values)
                    pending.append(values["to"])
                    edge = values["next"]

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
        if kind == 1:
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
        header = {k: v for k, v in self.header.items() if k != "magic" and not k.startswith("first")}
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
        if header["version"] != 1 or header["byte_order"] != 0x01020304:
            yield "version or byte order"
        if header["used_bytes"] > header["cap_bytes"]:
            yield "more used than the cap allows"
        incoming = collections.Counter()
        for edge in self.edges:
            source, target = self.nodes[edge["from_"]], self.nodes[edge["to"]]
            if edge["kind"] == TREE:
                incoming[edge["to"]] += 1
                if target["parent"] != edge["from_"]:
                    yield f"tree edge {edge['ref']} does not lead to a child"
            elif edge["kind"] == BACK:
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
            if parent and incoming[ref] != 1:
                yield f"node {ref} has {incoming[ref]} tree edges"
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
        for thread in self.threads:
            total, pending = 0, [thread["root"]] if thread["root"] else []
            while pending:
                node = self.nodes[pending.pop()]
                total += node["cpu_ns"] + node["overhead_ns"]
                pending += [e["to"] for e in node["edges"] if e["kind"] == TREE]
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
