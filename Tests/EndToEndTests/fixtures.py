#!/usr/bin/env python3
r"""Plays text fixtures against a running binary: request bytes, and the very answer bytes that must come.

usage: fixtures.py PATH-TO-PUSHSIM [--update] [NAME…]

A line of a fixture begins with what it is:
  #  words for the reader
  >  bytes to send, a line with CR LF after it        >>  the same without CR LF
  >* NUMBER TEXT   TEXT sent NUMBER times             >|  the client sends FIN
  <  bytes that must come, a line with CR LF          <<  the same without CR LF
  =  how it ends: closed (FIN), reset (RST), or open (another request is answered)
In both, \xHH, \0, \n, \r, \t and \\ are bytes; {scope} is the fixture's own scope, {port} the server's port.
The clock is frozen. With --update the answers are written down as they come.
"""
import pathlib
import re
import socket
import sys

from binary import serving

FOLDER = pathlib.Path(__file__).parent / "fixtures"
OPTIONS = ["server.requestTime=1s", "server.idle=2s", "ntm.connection=keep-alive"]
ESCAPES = {"0": b"\0", "n": b"\n", "r": b"\r", "t": b"\t", "\\": b"\\"}


def unescape(text, names):
    for name, value in names.items():
        text = text.replace("{" + name + "}", value)
    out = b""
    for part in re.split(r"(\\x[0-9a-fA-F]{2}|\\[0nrt\\])", text):
        if part.startswith("\\x"):
            out += bytes([int(part[2:], 16)])
        elif part.startswith("\\"):
            out += ESCAPES[part[1]]
        else:
            out += part.encode()
    return out


def escape(data, names):
    text = "".join(
        {9: "\\t", 92: "\\\\", 13: "\\r", 0: "\\0"}.get(byte)
        or (chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}") for byte in data)
    for name, value in names.items():
        text = text.replace(value, "{" + name + "}")
    return text


def written(data, names):
    """The lines of a fixture that stand for `data`."""
    lines = []
    for part in re.findall(rb"[^\n]*\n|[^\n]+$", data):
        if part.endswith(b"\r\n"):
            lines.append(("< " + escape(part[:-2], names)).rstrip(" "))
        elif part.endswith(b"\n"):
            lines.append("<< " + escape(part[:-1], names) + "\\n")
        else:
            lines.append("<< " + escape(part, names))
    return lines


class Fixture:
    def __init__(self, path, port):
        self.path = path
        self.port = port
        self.names = {"scope": "fixture-" + path.stem, "port": str(port)}
        self.steps = []  # (kind, bytes or text)
        for line in path.read_text().splitlines():
            kind, _, rest = line.partition(" ")
            if kind in (">", "<"):
                self.add(kind, unescape(rest, self.names) + b"\r\n")
            elif kind in (">>", "<<"):
                self.add(kind[0], unescape(rest, self.names))
            elif kind == ">*":
                number, _, text = rest.partition(" ")
                self.add(">", unescape(text, self.names) * int(number))
            elif kind in ("=", ">|"):
                self.steps.append((kind, rest))
            elif kind and kind != "#":
                sys.exit(f"{path.name}: a line begins with {kind!r}")

    def add(self, kind, data):
        if self.steps and self.steps[-1][0] == kind:
            self.steps[-1] = (kind, self.steps[-1][1] + data)
        else:
            self.steps.append((kind, data))

    def receive(self, link, wanted):
        """As many bytes as are wanted, or as come before the end."""
        data = b""
        while len(data) < wanted:
            try:
                part = link.recv(wanted - len(data))
            except ConnectionResetError:
                break
            if not part:
                break
            data += part
        return data

    def ending(self, link):
        """closed, reset, or open, with what came before that."""
        link.settimeout(0.3)
        data = b""
        try:
            while True:
                part = link.recv(65536)
                if not part:
                    return data, "closed"
                data += part
        except ConnectionResetError:
            return data, "reset"
        except socket.timeout:
            return data, "open"

    def check_open(self, link):
        link.sendall(b"GET /__pushsim/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        return self.receive(link, 15) == b"HTTP/1.1 200 OK"

    def play(self):
        """What is wrong, or nothing."""
        with socket.create_connection(("127.0.0.1", self.port)) as link:
            link.settimeout(10)
            for kind, content in self.steps:
                if kind == ">":
                    try:
                        link.sendall(content)
                    except (ConnectionResetError, BrokenPipeError):
                        pass
                elif kind == ">|":
                    link.shutdown(socket.SHUT_WR)
                elif kind == "<":
                    got = self.receive(link, len(content))
                    if got != content:
                        return f"wanted\n{content!r}\ngot\n{got!r}"
                elif content == "open":
                    if not self.check_open(link):
                        return "the connection did not stay open"
                else:
                    link.settimeout(10)
                    try:
                        rest = link.recv(65536)
                        end = "closed" if not rest else f"more: {rest!r}"
                    except ConnectionResetError:
                        end = "reset"
                    except socket.timeout:
                        end = "open"
                    if end != content:
                        return f"wanted the end to be {content}, got {end}"
        return None

    def update(self):
        kinds = [kind for kind, _ in self.steps]
        if ">" in kinds and "<" in kinds and kinds.index("<") < len(kinds) - 1 - kinds[::-1].index(">"):
            return  # Answers stand between requests: that is for a hand to write.
        lines = [line for line in self.path.read_text().splitlines() if not re.match(r"[<=]", line)]
        with socket.create_connection(("127.0.0.1", self.port)) as link:
            for kind, content in self.steps:
                try:
                    if kind == ">":
                        link.sendall(content)
                    elif kind == ">|":
                        link.shutdown(socket.SHUT_WR)
                except (ConnectionResetError, BrokenPipeError):
                    pass
            data, end = b"", "open"
            for _ in range(12):
                part, end = self.ending(link)
                data += part
                if end != "open" or (data and not part):
                    break
        lines += written(data, self.names) + ["= " + end]
        self.path.write_text("\n".join(lines) + "\n")


def play(paths, binary, loops):
    """How many of them fail on a server with so many event loops."""
    failed = 0
    options = [word for option in OPTIONS for word in ("--option", option)]
    with serving(binary, "--clock", "frozen", "--loops", loops, *options) as url:
        port = int(url.rsplit(":", 1)[1])
        for path in paths:
            fixture = Fixture(path, port)
            if "--update" in sys.argv:
                fixture.update()
            elif mistake := fixture.play():
                failed += 1
                print(f"fixtures: {path.name}, {loops} loops: {mistake}", file=sys.stderr)
    return failed


def main():
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    binary, wanted = words[0], words[1:]
    paths = sorted(path for path in FOLDER.glob("*.txt") if not wanted or path.stem in wanted)
    failed = max(play(paths, binary, loops) for loops in ("1", "2"))
    print(f"fixtures: {len(paths) - failed} of {len(paths)} good, on one event loop and on two")
    sys.exit(1 if failed or not paths else 0)


main()
