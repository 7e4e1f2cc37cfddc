"""A server that takes what Pyroscope's documentation says of POST /ingest, and writes it down.

ingest_server.py DIRECTORY [STATUS...]: prints its port, answers each request with the next status
(200 when they have run out), and writes request N to DIRECTORY/N.json and its profile to N.pprof.
"""
import email
import gzip
import http.server
import json
import os
import sys
import urllib.parse

directory, statuses = sys.argv[1], [int(status) for status in sys.argv[2:]]
count = 0


class Ingest(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        global count
        count += 1
        url = urllib.parse.urlsplit(self.path)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        form = email.message_from_bytes(
            b"Content-Type: " + self.headers["Content-Type"].encode() + b"\r\n\r\n" + body)
        fields = {part.get_param("name", header="content-disposition"):
                  part.get_payload(decode=True) for part in form.get_payload()}
        profile = gzip.decompress(fields["profile"])
        with open(os.path.join(directory, f"{count}.pprof"), "wb") as file:
            file.write(profile)
        with open(os.path.join(directory, f"{count}.json"), "w", encoding="utf-8") as file:
            json.dump({"path": url.path, "query": dict(urllib.parse.parse_qsl(url.query)),
                       "tenant": self.headers.get("X-Scope-OrgID", ""),
                       "fields": sorted(fields), "bytes": len(profile),
                       "types": json.loads(fields["sample_type_config"])}, file)
        status = statuses.pop(0) if statuses else 200
        self.send_response(status)
        self.send_header("Content-Length", "7")
        self.end_headers()
        self.wfile.write(b"answer\n")

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Ingest)
print(server.server_port, flush=True)
server.serve_forever()
