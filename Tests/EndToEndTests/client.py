"""Plain sockets against a verb of the binary: what came, and how it ended."""
import os
import re
import signal
import socket
import subprocess
import tempfile
import time

PATIENCE = 1.0


class Server:
    """A verb of the binary that listens."""

    def __init__(self, binary, *words, port=0):
        self.ready = tempfile.mktemp()
        self.process = subprocess.Popen(
            [binary, *words, "--port", str(port), "--ready-file", self.ready], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        while not (os.path.exists(self.ready) and open(self.ready).read().endswith("\n")):
            if self.process.poll() is not None:
                raise SystemExit(f"{words}: {self.process.stderr.read().decode()}")
            time.sleep(0.005)
        self.port = int(open(self.ready).read().strip().rsplit(":", 1)[1])

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out.decode(), err.decode()


def ask(port, octets, patience=PATIENCE):
    """What came, and how it ended: keep, fin, rst."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(octets)
        connection.settimeout(patience)
        data = bytearray()
        while True:
            try:
                more = connection.recv(1 << 20)
            except TimeoutError:
                return bytes(data), "open"
            except ConnectionResetError:
                return bytes(data), "rst"
            if not more:
                return bytes(data), "fin"
            data += more
            if is_whole(octets, data):
                connection.settimeout(0.05)


def is_whole(request, data):
    start, end = 0, data.find(b"\r\n\r\n")
    while end >= 0 and data.startswith(b"HTTP/1.1 1", start):
        start, end = end + 4, data.find(b"\r\n\r\n", end + 4)
    if end < 0:
        return False
    head = data[start:end]
    if request.startswith(b"HEAD") or re.match(rb"HTTP/1.. (204|304)", head):
        return True
    length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
    if length:
        return len(data) - end - 4 >= int(length[1])
    return b"chunked" in head and data.endswith(b"\r\n\r\n") and b"\r\n0\r\n" in data[-200:]


def taken_apart(request, data):
    """Status line, header list, and body without chunks."""
    heads = []
    body = data
    while True:
        head, gap, rest = body.partition(b"\r\n\r\n")
        if not gap:
            return heads, body
        heads.append(head.split(b"\r\n"))
        body = rest
        if not re.match(rb"HTTP/1.1 1", head):
            break
    if b"chunked" in head.lower():
        plain, rest = b"", body
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            count = int(size, 16) if size else 0
            if count == 0:
                return heads, plain + b"|trailers|" + rest
            plain, rest = plain + rest[:count], rest[count + 2:]
        return heads, plain
    return heads, body


def request(method, target, fields=(), body=b""):
    head = f"{method} {target} HTTP/1.1\r\nHost: localhost\r\n" + "".join(f"{n}: {v}\r\n" for n, v in fields)
    if body:
        head += f"Content-Length: {len(body)}\r\n"
    return head.encode("latin-1") + b"\r\n" + body
