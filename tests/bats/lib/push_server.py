"""Plays the servers that `pyprof push` sends to: takes and refuses what they take and refuse.

    push_server.py PORT_FILE LOG MODE_FILE [CERTIFICATE KEY]   serves on a port of 127.0.0.1, which it writes to PORT_FILE
    push_server.py sum LOG [SERVICE]                           prints the CPU time of all profiles that were taken
    push_server.py windows LOG                                 checks that no time is in two windows, prints their number
    push_server.py breaks LOG                                  prints how often a window did not begin where the last one ended

MODE_FILE says what becomes of requests: "ok"; a status, which may have a Retry-After after it; "smaller N": 413 for more than
N samples; "never", "slow S": an answer that does not come, or after S seconds; "drop", "half": the connection ends before it, or
in it, though the profile was taken; "endless": it does not end; "page", "moved": a server of another kind; "partial". LOG has a line of JSON for each request.
"""

import base64
import gzip
import http.server
import json
import os
import re
import ssl
import sys
import threading
import time

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "..", "oracles"))
from wire import packed, varint

MAX_UNPACKED, MAX_SAMPLES, MAX_LABELS, MAX_VALUE = 4 << 20, 16000, 30, 2048


class Refused(Exception):
    def __init__(self, status, message):
        super().__init__(message)
        self.status, self.message = status, message


def need(condition, message, status=400):
    if not condition:
        raise Refused(status, message)


def fields(data):
    """{field: [values]} of a message."""
    found, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 1:
            value, at = int.from_bytes(data[at : at + 8], "little"), at + 8
        else:
            need(tag & 7 == 2, "illegal wireType")
            length, at = varint(data, at)
            need(at + length <= len(data), "unexpected EOF")
            value, at = data[at : at + length], at + length
        found.setdefault(tag >> 3, []).append(value)
    return found


def one(message, field, default=0):
    return message.get(field, [default])[-1]


def check_time(time_ns):
    age = time.time() - time_ns / 1e9
    need(-600 < age < 3600, "profile with timestamp is outside of ingestion window")


def pprof(data, strict):
    """What the profile holds; with strict as Parca checks ids."""
    raw = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    need(len(raw) <= MAX_UNPACKED, "decompressed size exceeds maximum allowed size of 4194304 bytes")
    profile = fields(raw)
    strings = [s.decode() for s in profile[6]]
    types = [fields(t) for t in profile[1]]
    need([(strings[one(t, 1)], strings[one(t, 2)]) for t in types] == [("cpu", "nanoseconds")], "sample types")
    need(strings[one(fields(one(profile, 11)), 1)] == "cpu" and one(profile, 12), "period type")
    for field in 3, 4, 5:
        ids = [one(fields(m), 1) for m in profile.get(field, [])]
        need(not strict or ids == list(range(1, len(ids) + 1)), "ids are not 1 to n")
    functions = {one(f, 1): f for f in map(fields, profile.get(5, []))}
    names = {}
    for location in map(fields, profile.get(4, [])):
        lines = [fields(line) for line in location.get(4, [])]
        names[one(location, 1)] = strings[one(functions[one(lines[0], 1)], 2)] if lines else "?"
    samples = [fields(s) for s in profile.get(2, [])]
    need(0 < len(samples) <= MAX_SAMPLES, "%d samples" % len(samples))
    leaves, labels, total = {}, set(), 0
    for sample in samples:
        (value,) = packed(sample[2])
        total += value
        stack = packed(sample[1])
        leaves[names[stack[0]]] = leaves.get(names[stack[0]], 0) + value
        for label in map(fields, sample.get(3, [])):
            need(one(label, 1) and one(label, 2), "a label that is no text")
            labels.add((strings[one(label, 1)], strings[one(label, 2)]))
    return {"time": one(profile, 9), "duration": one(profile, 10), "sum": total, "samples": len(samples), "leaves": leaves,
            "sample_labels": sorted(labels)}


def pyroscope(headers, body):
    need(headers["Content-Type"] == "application/proto", "wrong content type", 415)
    result = []
    for series in map(fields, fields(body)[1]):
        labels = {one(pair, 1).decode(): one(pair, 2, b"").decode() for pair in map(fields, series[1])}
        need(labels.get("__name__") == "process_cpu", "invalid metric name")
        need(labels.get("service_name"), "no service")
        need(len(labels) <= MAX_LABELS and all(len(v) <= MAX_VALUE for v in labels.values()), "too many labels")
        need(all(re.fullmatch(r"[A-Za-z0-9_.]+", name) for name in labels), "label name")
        for sample in map(fields, series[2]):
            found = pprof(one(sample, 1), False)
            check_time(found["time"])
            found.update(labels=labels, id=one(sample, 2).decode(), service=labels["service_name"])
            result.append(found)
    return result


def parca(headers, body):
    result = []
    for series in json.loads(body)["series"]:
        pairs = series["labels"]["labels"]
        labels = {pair["name"]: pair["value"] for pair in pairs}
        need(len(labels) == len(pairs), "duplicate label names")
        need("__name__" in labels, "missing __name__ label")
        need(all(re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]*", name) for name in labels), "label name")
        for sample in series["samples"]:
            found = pprof(base64.b64decode(sample["rawProfile"], validate=True), True)
            found.update(labels=labels, id="", service=labels["job"])
            result.append(found)
    return result


def otlp(headers, body):
    need(headers["Content-Type"] == "application/x-protobuf", "unsupported media type", 415)
    if headers["Content-Encoding"] == "gzip":
        body = gzip.decompress(body)
    need(len(body) <= 20 << 20, "http: request body too large")
    data = fields(body)
    tables = fields(one(data, 2))
    strings = [s.decode() for s in tables[5]]
    need(all(tables[i][0] == b"" for i in (1, 2, 3, 6, 7)) and strings[0] == "", "element 0 of a table")
    attributes = []
    for attribute in map(fields, tables[6]):
        value = fields(one(attribute, 2, b""))
        attributes.append((strings[one(attribute, 1)], one(value, 1, b"").decode()))
    stacks = [packed(fields(s).get(1, [])) for s in tables[7]]
    locations = [fields(m) for m in tables[2]]
    functions = [fields(m) for m in tables[3]]
    result = []
    for resource in map(fields, data[1]):
        labels = {}
        for pair in map(fields, fields(one(resource, 1)).get(1, [])):
            value = fields(one(pair, 2))
            need(set(value) <= {1}, "a resource attribute that is no text becomes a label without a name")
            labels[one(pair, 1).decode()] = one(value, 1).decode()
        for scope in map(fields, resource[2]):
            for profile in map(fields, scope[2]):
                kind = fields(one(profile, 1))
                need((strings[one(kind, 1)], strings[one(kind, 2)]) == ("cpu", "nanoseconds"), "sample type")
                leaves, seen, total = {}, set(), 0
                samples = [fields(s) for s in profile[2]]
                for sample in samples:
                    (value,) = packed(sample[4])
                    lines = locations[stacks[one(sample, 1)][0]].get(3)
                    name = strings[one(functions[one(fields(lines[0]), 1)], 1)] if lines else "?"
                    leaves[name] = leaves.get(name, 0) + value
                    seen |= {attributes[i] for i in packed(sample.get(2, []))}
                    total += value
                result.append({"time": one(profile, 3), "duration": one(profile, 4), "sum": total, "samples": len(samples),
                               "leaves": leaves, "labels": labels, "id": one(profile, 7).hex(), "sample_labels": sorted(seen),
                               "service": labels["service.name"]})
    return result


PATHS = {"/push.v1.PusherService/Push": (pyroscope, "application/proto", b""),
         "/api/profiles/writeraw": (parca, "application/json", b"{}"),
         "/v1development/profiles": (otlp, "application/x-protobuf", b"\n\0")}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def log(self, **what):
        with self.server.lock, open(self.server.log_path, "a", encoding="utf-8") as log:
            print(json.dumps(what), file=log, flush=True)

    def answer(self, status, body=b"", kind="application/json", **headers):
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": len(body), **headers}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(405)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with open(self.server.mode_path, encoding="utf-8") as file:
            mode, *more = file.read().split()
        headers = {name: self.headers[name] for name in ("Authorization", "X-Scope-OrgID", "User-Agent", "Expect") if self.headers[name]}
        if self.path not in PATHS:
            self.log(status=404, path=self.path)
            return self.answer(404, b"404 page not found", "text/plain")
        read, kind, empty = PATHS[self.path]
        self.close_connection = True
        if mode == "slow":
            time.sleep(float(more[0]))
        if mode == "never":
            time.sleep(600)
        try:
            need(not mode.isdigit(), "as the test wants it", int(mode) if mode.isdigit() else 0)
            profiles = read(self.headers, body)
            if mode == "smaller":
                need(all(p["samples"] <= int(more[0]) for p in profiles), "request entity too large", 413)
            if mode == "token":
                need(headers.get("Authorization") == "Bearer " + more[0], "invalid token", 401)
        except Refused as refused:
            self.log(status=refused.status, message=refused.message, headers=headers)
            text = json.dumps({"code": "test", "message": refused.message}, separators=(",", ":")).encode()
            return self.answer(refused.status, text, **({"Retry_After": more[0]} if mode.isdigit() and more else {}))
        if mode == "drop":
            self.log(status=0)
            return self.connection.close()
        if mode == "page":
            return self.answer(200, b"<html>Welcome</html>", "text/html; charset=utf-8")
        if mode == "moved":
            return self.answer(301, Location="http://127.0.0.1:1/elsewhere")
        for profile in profiles:
            self.log(status=200, arrived=time.time(), headers=headers, **profile)
        if mode == "half":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: 100\r\n\r\nx" % kind.encode())
            return None
        if mode == "endless":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: 100\r\n\r\nx" % kind.encode())
            time.sleep(600)
        if mode == "partial":
            return self.answer(200, b"\n\x0d\x08\x01\x12\x09too small", kind)
        return self.answer(200, empty, kind)


def serve(port_path, log_path, mode_path, *certificate):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", 0))), Handler)
    server.daemon_threads = True
    server.lock, server.log_path, server.mode_path = threading.Lock(), log_path, mode_path
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    with open(port_path + "~", "w", encoding="utf-8") as file:
        file.write(str(server.server_address[1]))
    os.rename(port_path + "~", port_path)
    server.serve_forever()


def taken(path):
    with open(path, encoding="utf-8") as lines:
        return [line for line in map(json.loads, lines) if line["status"] == 200]


def windows(path):
    """Windows of a service meet or are apart; a window that was sent in parts is there several times."""
    found = sorted({(p["service"], p["time"], p["duration"]) for p in taken(path)})
    for (a, start, length), (b, then, _) in zip(found, found[1:]):
        if a == b and start + length > then:
            sys.exit(f"{a}: {start} + {length} > {then}")
    return len(found)


def breaks(path):
    found = [(p["time"], p["duration"]) for p in taken(path)]
    found = [window for window, last in zip(found, [None] + found) if window != last]
    return sum(start + length != then for (start, length), (then, _) in zip(found, found[1:]))


if __name__ == "__main__":
    if sys.argv[1] == "sum":
        print(sum(p["sum"] for p in taken(sys.argv[2]) if len(sys.argv) < 4 or p["service"] == sys.argv[3]))
    elif sys.argv[1] == "windows":
        print(windows(sys.argv[2]))
    elif sys.argv[1] == "breaks":
        print(breaks(sys.argv[2]))
    else:
        serve(*sys.argv[1:])
