"""A server that takes what Pyroscope's documentation says of POST /ingest, or OTLP's of profiles,
and writes it down.

ingest_server.py DIRECTORY [STATUS...]: prints its port, answers each request with the next status
(200 when they have run out), and writes request N to DIRECTORY/N.json and its profile to N.pprof
or N.otlp. "redirect" sends the client to /elsewhere. To OTLP "partial" and "remark" are statuses as
well: 200, with a message to the user. With TLS in the environment, a directory with key and
certificate, it speaks https.
"""
import email
import gzip
import http.server
import json
import os
import ssl
import sys
import urllib.parse

directory, statuses = sys.argv[1], sys.argv[2:]
count = 0


def text_field(number, text):
    """A text or a message as a field of a message in protobuf."""
    return bytes([number << 3 | 2, len(text)]) + text


class Ingest(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        global count
        count += 1
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status = statuses.pop(0) if statuses else "200"
        if status == "redirect":
            self.send_response(302)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif self.headers["Content-Type"] == "application/x-protobuf":
            self.take_otlp(body, status)
        else:
            self.take_form(body, status)

    def take_form(self, body, status):
        form = email.message_from_bytes(
            b"Content-Type: " + self.headers["Content-Type"].encode() + b"\r\n\r\n" + body)
        fields = {part.get_param("name", header="content-disposition"):
                  part.get_payload(decode=True) for part in form.get_payload()}
        self.write_down("pprof", gzip.decompress(fields["profile"]), {
            "fields": sorted(fields), "types": json.loads(fields["sample_type_config"])})
        self.answer(int(status), "text/plain", b"answer\n")

    def take_otlp(self, body, status):
        self.write_down("otlp", gzip.decompress(body),
                        {"encoding": self.headers["Content-Encoding"]})
        answer = b""
        if status in ("partial", "remark"):
            rejected = bytes([1 << 3, 2]) if status == "partial" else b""
            answer = text_field(1, rejected + text_field(2, b"too old"))
            status = "200"
        elif status != "200":
            answer = bytes([1 << 3, 3]) + text_field(2, b"answer")
        self.answer(int(status), "application/x-protobuf", answer)

    def write_down(self, kind, profile, facts):
        url = urllib.parse.urlsplit(self.path)
        with open(os.path.join(directory, f"{count}.{kind}"), "wb") as file:
            file.write(profile)
        with open(os.path.join(directory, f"{count}.json"), "w", encoding="utf-8") as file:
            json.dump({"path": url.path, "query": dict(urllib.parse.parse_qsl(url.query)),
                       "tenant": self.headers.get("X-Scope-OrgID", ""), "bytes": len(profile),
                       "host": self.headers["Host"],
                       **facts}, file)

    def answer(self, status, content_type, body):
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Ingest)
if "TLS" in os.environ:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.path.join(os.environ["TLS"], "certificate"),
                            os.path.join(os.environ["TLS"], "key"))
    server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
