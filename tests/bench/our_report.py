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
    """(function as the report writes it, nanoseconds, calls) for each function that has any."""
    rows = csv.DictReader(ask(context, "--self", "--format", "csv", *options, profile).splitlines())
    return [(row["name"], float(row["self"]), int(row["calls"] or 0)) for row in rows]


def calls_made(context, profile):
    """(caller as the report writes it, calls) for each of its call sites."""
    rows = csv.DictReader(ask(context, "--call-sites", "--format", "csv", profile).splitlines())
    return [(row["caller"], int(row["calls"])) for row in rows]
