#!/usr/bin/env python3
"""add_symbols.py MODULE PLANS OUT: a copy of a stripped module, with a symbol for each function.

callgrind takes a jump from one function to another for a tail call only where symbols tell it where
functions begin. The plan in PLANS knows that. The code and its addresses stay as they are.
"""
import os
import re
import struct
import subprocess
import sys

import exact_calls


def functions(module, plans):
    data = open(exact_calls.plan_path(module, plans), "rb").read()
    trampolines, sites, refusals = struct.unpack_from("<3I", data, 12)
    at = exact_calls.HEADER
    begins = {struct.unpack_from("<I", data, at + exact_calls.TRAMPOLINE * i)[0] for i in range(trampolines)}
    at += exact_calls.TRAMPOLINE * trampolines + exact_calls.SITE * sites
    for i in range(refusals):
        begin, _, reason = struct.unpack_from("<IIH", data, at + exact_calls.REFUSAL * i)
        if reason != exact_calls.PART:
            begins.add(begin)
    return begins


def give_sizes(path):
    """callgrind ignores symbols without a size; objcopy gives none. Each ends where the next begins."""
    data = bytearray(open(path, "rb").read())
    sections, = struct.unpack_from("<Q", data, 40)
    count, = struct.unpack_from("<H", data, 60)
    for i in range(count):
        kind, = struct.unpack_from("<I", data, sections + 64 * i + 4)
        if kind != 2:  # SHT_SYMTAB
            continue
        begin, size = struct.unpack_from("<QQ", data, sections + 64 * i + 24)
        at = sorted((struct.unpack_from("<Q", data, symbol + 8)[0], symbol)
                    for symbol in range(begin, begin + size, 24) if data[symbol + 4] & 15 == 2)
        for (address, symbol), (following, _) in zip(at, at[1:] + [(at[-1][0] + 1, 0)]):
            struct.pack_into("<Q", data, symbol + 16, following - address)
    open(path, "wb").write(data)


def main():
    module, plans, out = sys.argv[1:]
    text = subprocess.run(["readelf", "-SW", module], capture_output=True, text=True, check=True).stdout
    begin, size = (int(word, 16) for word in
                   re.search(r"\] \.text +PROGBITS +(\w+) +\w+ +(\w+)", text).groups())
    options = out + ".options"
    with open(options, "w", encoding="utf-8") as file:
        for function in sorted(functions(module, plans)):
            if begin <= function < begin + size:
                file.write(f"--add-symbol f_{function:x}=.text:{function - begin:#x},function,global\n")
    subprocess.run(["objcopy", "@" + options, module, out], check=True)
    os.remove(options)
    give_sizes(out)


main()
