"""Asking fble-prof-report."""
import csv
import json
import subprocess


def ask(context, *arguments):
    done = subprocess.run([context.report, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"scripts/bench: fble-prof-report {' '.join(map(str, arguments))}: {done.stderr}")
    return done.stdout


def summary(context, profile):
    return json.loads(ask(context, "--summary", "--format", "json", profile))


def self_times(context, profile, *options):
    """(function as the report writes it, nanoseconds) for each function."""
    rows = csv.DictReader(ask(context, "--self", "--format", "csv", *options, profile).splitlines())
    return [(row["name"], float(row["self"])) for row in rows]
