#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A server that speaks Prometheus's HTTP API, and spoils what it says in many ways.

    bad_server.py SWITCH [CERTIFICATE KEY]

Listens on a port of 127.0.0.1 that it prints, with TLS when there is a certificate, until its
standard input ends.  The first part of a path says how an answer is spoilt (/html/api/v1/query), but
only while the file SWITCH exists: before, all answers are good.  A good level is 3.5, a good past at
time t is t / 60 modulo 1000, or always 3.5 where the part ends in "-flat".
"""
import http.server
import json
import os
import ssl
import sys
import threading
import time
import urllib.parse

MOST_POINTS = 11000
SWITCH = sys.argv[1]


def vector(*values):
    result = [{"metric": {"i": str(i)}, "value": [1700000000.5, value]}
              for i, value in enumerate(values)]
    return json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}})


def past(first, last, step, flat):
    """What Prometheus gives, its limit on points included."""
    if (last - first) // step + 1 > MOST_POINTS:
        return 400, json.dumps({"status": "error", "errorType": "bad_data",
                                "error": "exceeded maximum resolution of 11,000 points"})
    values = [[t, "3.5" if flat else str(t // 60 % 1000)] for t in range(first, last + 1, step)]
    data = {"resultType": "matrix", "result": [{"metric": {}, "values": values}]}
    return 200, json.dumps({"status": "success", "data": data})


GOOD = vector("3.5")
SPOILT = {
    "500": (500, "Internal error"),
    "404": (404, "404 page not found"),
    "html": (200, "<html><body>Please log in</body></html>"),
    "half": (200, GOOD[:len(GOOD) // 2]),
    "empty": (200, vector()),
    "nothing": (200, ""),
    "nan": (200, vector("NaN")),
    "inf": (200, vector("+Inf")),
    "minus-inf": (200, vector("-Inf")),
    "negative": (200, vector("-3")),
    "word": (200, vector("many")),
    "two": (200, vector("1", "2")),
    "zero": (200, vector("0")),
    "list": (200, "[]"),
    "deep": (200, "[" * 100000),
    "refused": (422, '{"status":"error","errorType":"bad_data","error":"parse error: \\u001b[1m"}'),
    "string": (200, '{"status":"success","data":{"resultType":"string","result":[1,"x"]}}'),
}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send(self, status, body, length=None):
        body = body.encode()
        self.send_response(status)
        if length != 0:
            self.send_header("Content-Length", str(length or len(body)))
        self.end_headers()
        self.wfile.write(body)

    def spoil(self, how):
        if how == "hang":
            time.sleep(3600)
        elif how == "close":
            self.close_connection = True
        elif how == "cut":
            self.send(200, GOOD, length=len(GOOD) + 10)
            self.close_connection = True
        elif how == "redirect":
            self.send_response(302)
            self.send_header("Location", "/good" + self.path[len("/redirect"):])
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif how in ("endless", "drip"):
            self.send(200, "[", length=0)
            while True:
                self.wfile.write(b" " * (65536 if how == "endless" else 1))
                time.sleep(0 if how == "endless" else 0.05)
        else:
            self.send(*SPOILT[how])

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        how = url.path.split("/")[1]
        arguments = {key: value[0] for key, value in urllib.parse.parse_qs(url.query).items()}
        if how == "token" and self.headers.get("Authorization") != "Bearer s3cret":
            self.send(401, "Unauthorized")
        elif arguments.get("query") != "sum(x{a='b c'}) + 1":
            self.send(400, "not the query")
        elif how not in ("good", "token") and os.path.exists(SWITCH):
            self.spoil(how.removesuffix("-flat"))
        elif url.path.endswith("/api/v1/query_range"):
            self.send(*past(*(int(arguments[key]) for key in ("start", "end", "step")),
                            how.endswith("-flat")))
        elif url.path.endswith("/api/v1/query"):
            self.send(200, GOOD)
        else:
            self.send(404, "404 page not found")


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 100

    def handle_error(self, *_):
        pass


def main():
    server = Server(("127.0.0.1", 0), Handler)
    if len(sys.argv) > 2:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[2], sys.argv[3])
        server.socket = context.wrap_socket(server.socket, server_side=True,
                                            do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()


main()
