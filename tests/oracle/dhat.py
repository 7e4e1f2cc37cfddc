#!/usr/bin/env python3
"""What Valgrind's DHAT counted: dhat.py FILE prints blocks and bytes allocated, and bytes at the peak."""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    points = json.load(file)["pps"]
print(sum(p["tbk"] for p in points), sum(p["tb"] for p in points), sum(p["gb"] for p in points))
