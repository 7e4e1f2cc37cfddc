#!/usr/bin/env python3
"""Compares the counts of calls of a profile with another count of the same script.

    python_counts.py cprofile SCRIPT    runs the script under cProfile, prints counts
    python_counts.py setprofile SCRIPT  the same with sys.setprofile, in all threads
    python_counts.py compare COUNTS SELF EDGES    the report's CSV of --self --lines and --edges

Counted are the functions of the script, and the C functions that these call, by caller."""
import collections
import csv
import json
import runpy
import sys
import threading


def of_script(code, script):
    return code.co_filename == script


def by_cprofile(script):
    import cProfile
    import pstats
    profile = cProfile.Profile()
    profile.enable()
    try:
        runpy.run_path(script, run_name="__main__")
    finally:
        profile.disable()
    functions, pairs = collections.Counter(), collections.Counter()
    for (file, line, name), (_, calls, _, _, callers) in pstats.Stats(profile).stats.items():
        if file == script:
            functions[f"{line}:{name}"] += calls
        elif file == "~":
            for (caller_file, caller_line, caller), (times, *_) in callers.items():
                if caller_file == script:
                    pairs[f"{caller}>{c_name(name)}"] += times
    return functions, pairs


def c_name(shown):
    """'<built-in method time.sleep>' and "<method 'append' of 'list' objects>" to their last name."""
    if shown.startswith("<method '"):
        return shown.split("'")[1]
    return shown.removeprefix("<built-in method ").rstrip(">").split(".")[-1]


def by_setprofile(script):
    functions, pairs = collections.Counter(), collections.Counter()

    def note(frame, event, argument):
        code = frame.f_code
        if code.co_filename != script:
            return
        if event == "call":
            functions[f"{code.co_firstlineno}:{code.co_name}"] += 1
        elif event == "c_call":
            pairs[f"{code.co_name}>{argument.__name__}"] += 1

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        runpy.run_path(script, run_name="__main__")
    finally:
        sys.setprofile(None)
    return functions, pairs


def last(name):
    return name.split(".")[-1]


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def compare(counts, self_table, edges):
    with open(counts, encoding="utf-8") as file:
        expected = json.load(file)
    functions = collections.Counter()
    for row in read(self_table):
        if row["file"].endswith(expected["script"]):
            functions[f"{row['line']}:{last(row['name'])}"] += int(row["calls"] or 0)
    pairs = collections.Counter()
    # Every module's code has the same name.
    own = {key.split(":", 1)[1] for key in expected["functions"]} - {"<module>"}
    for row in read(edges):
        if last(row["caller"]) in own and row["sampled"] in ("false", "0", ""):
            pairs[f"{last(row['caller'])}>{last(row['callee'])}"] += int(row["calls"] or 0)
    wrong = [f"{key}: {calls}, counted {functions[key]}"
             for key, calls in expected["functions"].items() if functions[key] != calls]
    wrong += [f"{key}: not expected, counted {calls}"
              for key, calls in functions.items() if key not in expected["functions"]]
    wrong += [f"{key}: {calls}, counted {pairs[key]}"
              for key, calls in expected["pairs"].items()
             if pairs[key] != calls and not key.startswith("<module>")]
    for line in wrong[:20]:
        print(line)
    print(f"{len(expected['functions'])} functions, {sum(expected['functions'].values())} calls, "
          f"{len(expected['pairs'])} pairs, {len(wrong)} differ")
    return 1 if wrong else 0


def main():
    mode, *arguments = sys.argv[1:]
    if mode == "compare":
        return compare(*arguments)
    script, out = arguments[:2]
    sys.argv = [script, *arguments[2:]]
    functions, pairs = {"cprofile": by_cprofile, "setprofile": by_setprofile}[mode](script)
    # The oracle's own calls.
    for key in [key for key in pairs if key.endswith((">setprofile", ">disable"))]:
        del pairs[key]
    with open(out, "w", encoding="utf-8") as file:
        json.dump({"script": script, "functions": functions, "pairs": pairs}, file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
