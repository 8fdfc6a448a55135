"""An upstream that does to its clients what real ones do: every answer is octets written here by hand."""
import gzip
import socket
import ssl
import struct
import threading
import time
import zlib


def answer(status, fields, body=b"", length=True):
    head = f"HTTP/1.1 {status}\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields)
    if length:
        head += f"Content-Length: {len(body)}\r\n"
    return head.encode("latin-1") + b"\r\n" + body


def chunked(status, fields, parts, trailers=b""):
    out = answer(status, list(fields) + [("Transfer-Encoding", "chunked")], length=False)
    for part in parts:
        out += f"{len(part):x}\r\n".encode() + part + b"\r\n"
    return out + b"0\r\n" + trailers + b"\r\n"


TEXT = [("Content-Type", "text/plain")]
JSON = [("Content-Type", "application/json")]
BIG = b"".join(bytes([i & 255]) * 3 + bytes(range(253)) for i in range(65536))


def routes(upstream):
    """By path: octets to send, and how the connection ends: keep, fin, rst, hang."""
    polls = upstream.polls

    def poll(path):
        polls[path] = polls.get(path, 0) + 1
        return answer("200 OK", JSON, b'{"state":%d}' % polls[path])

    zipped = zlib.compressobj(9, zlib.DEFLATED, -15)
    raw_deflate = zipped.compress(b"bare deflate " * 50) + zipped.flush()
    return {
        "/poll": lambda r: (poll("/poll"), "keep"),
        "/cookies": lambda r: (answer("200 Fine", [
            ("Set-Cookie", "a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT; Path=/"), ("set-cookie", "theme=dark"),
            ("X-lower-Case", "Kept")], b"two"), "keep"),
        "/gzip": lambda r: (answer("200 OK", TEXT + [("Content-Encoding", "gzip")],
                                   gzip.compress(b"squeezed " * 100, 1, mtime=7)), "keep"),
        "/deflate": lambda r: (answer("200 OK", TEXT + [("Content-Encoding", "deflate")],
                                      zlib.compress(b"deflated " * 100)), "keep"),
        "/bare-deflate": lambda r: (answer("200 OK", TEXT + [("Content-Encoding", "deflate")], raw_deflate), "keep"),
        "/unknown-coding": lambda r: (answer("200 OK", [("Content-Encoding", "br")], b"\x0b\x02\x80hello\x03"), "keep"),
        "/octets": lambda r: (answer("200 OK", [("Content-Type", "application/octet-stream")], bytes(range(256))), "keep"),
        "/gzip-file": lambda r: (answer("200 OK", [("Content-Type", "application/octet-stream")],
                                        gzip.compress(b"a file", mtime=7)), "keep"),
        "/latin": lambda r: (answer("200 OK", [("Content-Type", "text/plain; charset=iso-8859-1")],
                                    "café".encode("latin-1")), "keep"),
        "/latin-utf8": lambda r: (answer("200 OK", [("Content-Type", "text/plain; charset=iso-8859-1")],
                                         "café".encode()), "keep"),
        "/redirect": lambda r: (answer("302 Found", [("Location", "/redirect-2?x=%2F")]), "keep"),
        "/redirect-2": lambda r: (answer("307 Temporary Redirect", [("Location", "/end")], b"moved"), "keep"),
        "/end": lambda r: (answer("200 OK", TEXT, b"the end"), "keep"),
        "/204": lambda r: (answer("204 No Content", [("X-A", "b")], length=False), "keep"),
        "/304": lambda r: (answer("304 Not Modified", [("ETag", '"x"'), ("Content-Length", "123")], length=False), "keep"),
        "/head": lambda r: (answer("200 OK", TEXT + [("Content-Length", "5000")], length=False), "keep"),
        "/chunked": lambda r: (chunked("200 OK", TEXT, [b"one ", b"two ", b"x" * 300]), "keep"),
        "/trailers": lambda r: (chunked("200 OK", TEXT, [b"body"], b"X-Check: 1\r\n"), "keep"),
        "/sse": lambda r: (chunked("200 OK", [("Content-Type", "text/event-stream")],
                                   [b"data: %d\n\n" % i for i in range(5)]), "keep"),
        "/interim": lambda r: (b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"
                               + answer("200 OK", TEXT, b"after"), "keep"),
        "/big": lambda r: (answer("200 OK", [("Content-Type", "application/octet-stream")], BIG), "keep"),
        "/to-the-end": lambda r: (answer("200 OK", TEXT, b"ends with the connection", length=False), "fin"),
        "/close": lambda r: (answer("200 OK", TEXT + [("Connection", "close")], b"bye"), "fin"),
        "/old": lambda r: (b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nold", "fin"),
        "/cut": lambda r: (answer("200 OK", TEXT + [("Content-Length", "100")], b"12345", length=False), "fin"),
        "/cut-chunk": lambda r: (answer("200 OK", [("Transfer-Encoding", "chunked")], b"5\r\nhello\r\n64\r\nshort", length=False), "fin"),
        "/reset-mid": lambda r: (answer("200 OK", TEXT + [("Content-Length", "100")], b"123", length=False), "rst"),
        "/reset": lambda r: (b"", "rst"),
        "/closed": lambda r: (b"", "fin"),
        "/hang": lambda r: (b"", "hang"),
        "/hang-mid": lambda r: (answer("200 OK", TEXT + [("Content-Length", "9")], b"abc", length=False), "hang"),
        "/not-ascii": lambda r: (b"HTTP/1.1 200 Caf\xe9\r\nX-Name: caf\xe9\r\nX-Utf8: \xc3\xa9\r\nContent-Length: 2\r\n\r\nok", "keep"),
        "/repeated": lambda r: (answer("200 OK", [("X-A", "1"), ("x-b", "2"), ("X-A", "3"), ("X-a", "")], b"r"), "keep"),
        "/empty": lambda r: (answer("200 OK", TEXT, b""), "keep"),
        "/echo": lambda r: (answer("200 OK", TEXT, r["body"]), "keep"),
        "/odd-reason": lambda r: (b"HTTP/1.1 299 \r\nContent-Length: 0\r\n\r\n", "keep"),
        "/numbers": lambda r: (answer("200 OK", JSON, b'{"a":1.10,"a":2,"big":12345678901234567890}'), "keep"),
        "/braces": lambda r: (answer("200 OK", TEXT, b"{{ not.a placeholder }} {{x}} {{{{ {{token.1}} {{a.2:base64}}"), "keep"),
        "/as-asked": lambda r: ((answer("200 OK", TEXT, b"in one", length=False), "fin") if r["version"] == "HTTP/1.0"
                                else (chunked("200 OK", TEXT, [b"in", b" two"]), "keep")),
    }


class Upstream:
    def __init__(self, context=None, extra=None):
        self.polls = {}
        self.seen = []
        self.routes = routes(self)
        self.routes.update(extra or {})
        self.context = context
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=200)
        self.port = self.listener.getsockname()[1]
        self.hung = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            if self.context:
                connection = self.context.wrap_socket(connection, server_side=True)
            while self.one(connection):
                pass
        except (OSError, ssl.SSLError):
            connection.close()

    def one(self, connection):
        request = read_request(connection)
        if request is None:
            connection.close()
            return False
        self.seen.append(request)
        path = request["target"].split("?")[0]
        octets, end = self.routes.get(path, lambda r: (answer("404 Not Found", TEXT, b"no"), "keep"))(request)
        if path == "/sse":
            head, _, body = octets.partition(b"\r\n\r\n")
            connection.sendall(head + b"\r\n\r\n")
            for event in body.split(b"\r\n\r\n"):
                connection.sendall(event + (b"\r\n\r\n" if event else b""))
        else:
            connection.sendall(octets)
        if end == "rst":
            # What was sent is to arrive before the reset does.
            time.sleep(0.05)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
        elif end == "hang":
            self.hung.append(connection)
        elif end == "fin":
            connection.shutdown(socket.SHUT_WR)
            connection.close()
        return end == "keep"

    def stop(self):
        self.listener.close()


def read_request(connection):
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return None
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    method, target, version = lines[0].split(" ", 2)
    fields = [tuple(line.split(": ", 1)) if ": " in line else (line.rstrip(":"), "") for line in lines[1:]]
    length = next((int(v) for n, v in fields if n.lower() == "content-length"), 0)
    while len(body) < length:
        body += connection.recv(65536)
    return {"method": method, "target": target, "version": version, "fields": fields, "body": body}
