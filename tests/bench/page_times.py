#!/usr/bin/env python3
"""page_times.py REPORT PROFILE [SECONDS]: how long a server takes for each page, and how large the page is.

Prints, by page: milliseconds without lists, with a new exclude list, with a new fold list (the middle one of three
lists), and the largest answer in KB. Before that it waits SECONDS (20), in which the server makes pages ahead."""
import http.client
import json
import re
import statistics
import subprocess
import sys
import time
from urllib.parse import quote

PAGES = """overview flame flame?inverted=1 flame?pivot=NAME tree self dominated edges cliques cliques/context modules
by/file by/namespace by/class by/thread threads waits memory windows diff exports hot metrics summary coverage
call-sites verify find?q=method_12 block/NAME path/NAME,NEXT source/NAME""".split()


class Server:
    def __init__(self, report, profile):
        self.process = subprocess.Popen([report, "--serve", profile], stdout=subprocess.PIPE, text=True)
        port, token = re.search(r":(\d+)/\?token=(\w+)", self.process.stdout.readline()).groups()
        self.connection = http.client.HTTPConnection("127.0.0.1", int(port))
        self.headers = {"Authorization": "Bearer " + token}

    def get(self, path):
        begin = time.perf_counter()
        self.connection.request("GET", "/" + path, headers=self.headers)
        response = self.connection.getresponse()
        body = response.read()
        return (time.perf_counter() - begin) * 1000, body, response.status


def main():
    report, profile = sys.argv[1:3]
    server = Server(report, profile)
    try:
        server.get("self")
        time.sleep(float(sys.argv[3]) if len(sys.argv) > 3 else 20)
        rows = json.loads(server.get("dominated?format=json&n=400")[1])["rows"]
        ids = [json.loads(server.get("find?format=json&q=" + quote(row["name"]))[1])["rows"][0]["id"]
               for row in rows[:2]]
        # A function for each list, none used twice: what is on the server from another page does not count.
        unused = iter(quote(row["name"]) for row in rows[20:])
        print(f"{'page':24}{'plain':>8}{'exclude':>9}{'fold':>8}{'KB':>7}")
        for page in PAGES:
            path = page.replace("NAME", ids[0]).replace("NEXT", ids[1])
            times, largest = [], 0
            for parameter in ("", "exc", "fold"):
                tries = []
                for _ in range(3 if parameter else 1):
                    joined = path + (("&" if "?" in path else "?") + f"{parameter}={next(unused)}" if parameter else "")
                    took, body, status = server.get(joined)
                    tries.append(took)
                    largest = max(largest, len(body))
                    if status != 200:
                        print(f"{joined}: {status}", file=sys.stderr)
                times.append(statistics.median(tries))
            print(f"{page:24}{times[0]:8.0f}{times[1]:9.0f}{times[2]:8.0f}{largest / 1000:7.0f}", flush=True)
    finally:
        server.process.terminate()


main()
