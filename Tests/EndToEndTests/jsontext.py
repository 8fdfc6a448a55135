"""Has the binary and Python's own reader judge the same texts: good JSON, and what a changed octet or two make of it.
usage: jsontext.py PATH-TO-PUSHSIM"""
import json
import random
import socket
import sys

from client import Server

BINARY = sys.argv[1]
TEXTS = 8000


def string(chance):
    if chance.random() < 0.5:
        return '"' + chance.choice(["\\ud83d\\ude00", "\\u0000", "\\/", "\\b\\f", "plain" * 3]) + '"'
    letters = ["a", "é", "😀", "\n", '"', "\\", "\x7f", "\u2028", "x" * chance.randrange(30)]
    text = "".join(chance.choice(letters) for _ in range(chance.randrange(8)))
    return json.dumps(text, ensure_ascii=chance.random() < 0.5)


def value(chance, depth=0):
    kind = chance.randrange(6 if depth < 5 else 4)
    if kind == 0:
        return chance.choice(["null", "true", "false"])
    if kind == 1:
        return chance.choice(["0", "-1", "1.5", "1e9", "-0.0", "123456789012345678901234567890", "1E+2"])
    if kind < 4:
        return string(chance)

    def space():
        return chance.choice(["", "", " ", "\n", "\t", "\r\n"])
    parts = [space() + value(chance, depth + 1) + space() for _ in range(chance.randrange(4))]
    if kind == 4:
        return "[" + ",".join(parts) + "]"
    return "{" + ",".join(f'{space()}"k{number}"{space()}:{part}' for number, part in enumerate(parts)) + "}"


def changed(chance, text):
    octets = bytearray(text.encode())
    for _ in range(chance.randrange(3)):
        at, kind = chance.randrange(len(octets)), chance.randrange(3)
        if kind == 0:
            octets[at] = chance.choice(b'{}[],:"\\ 0-+.eEtfn\x00\x1f\x80\xff')
        elif kind == 1 and len(octets) > 1:
            del octets[at]
        else:
            octets[at:at] = bytes([chance.choice(b'{}[],:"\\ 01-.')])
    return bytes(octets)


def is_json(octets):
    def no_number(_):
        raise ValueError
    try:
        json.loads(octets.decode(), parse_constant=no_number)
    except ValueError:
        return False
    return True


def is_taken(link, reader, octets):
    """A reset takes no members, which says that the text was read."""
    link.sendall(b"POST /__pushsim/reset HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(octets) + octets)
    status, length = int(reader.readline().split()[1]), 0
    while field := reader.readline().strip():
        name, _, text = field.partition(b":")
        if name.lower() == b"content-length":
            length = int(text)
    body = reader.read(length)
    return status == 204 or json.loads(body)["error"]["code"] != "notJSON"


server = Server(BINARY, "serve", "--quiet")
chance = random.Random(5)
good = 0
with socket.create_connection(("127.0.0.1", server.port), timeout=20) as link, link.makefile("rb") as reader:
    for _ in range(TEXTS):
        octets = changed(chance, value(chance))
        wanted = is_json(octets)
        good += wanted
        if is_taken(link, reader, octets) != wanted:
            raise SystemExit(f"jsontext: {octets} is {'good' if wanted else 'no JSON'} to Python, and not so here")
server.stop()
if not TEXTS / 4 < good < TEXTS:
    raise SystemExit(f"jsontext: {good} of {TEXTS} texts are good, which tells too little")
print(f"jsontext: {TEXTS} texts, {good} of them JSON, judged as Python does")
