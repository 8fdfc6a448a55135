"""Round after round of damaged requests and of clients that stop or vanish: the server answers on, and neither its sockets
nor its memory grow.
usage: hostile.py PATH-TO-PUSHSIM"""
import os
import pathlib
import random
import socket
import sys
import time
import urllib.request

from client import Server

BINARY = sys.argv[1]
ROUNDS = 6
MUTATIONS, CLIENTS = 2000, 200

BODY = b'{"proto":"apns","token":"abc","app_domain":"example.com"}'
FORM = b"proto=xmpp&token=a%40b.c&app_domain=example.com"
PROFILE = b"{ rules: [ { on: { path: '/x' }, then: { delay: '1ms' } } ] }"
GOOD = [
    b"POST /v1/subscriber HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer x\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(BODY) + BODY,
    b"POST /v1/subscriber/ HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer x\r\nTransfer-Encoding: chunked\r\n"
    b"Connection: close\r\n\r\n%x;a=b\r\n" % len(FORM) + FORM + b"\r\n0\r\nX-T: 1\r\n\r\n",
    b"GET /.well-known/fluxer HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    b"PUT /__pushsim/profile HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(PROFILE)
    + PROFILE,
]


def accepted(port):
    """What is mutated below is good."""
    for octets in GOOD:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
            client.sendall(octets)
            head = client.recv(1 << 16).split(b"\r\n")[0]
        if not head.startswith(b"HTTP/1.1 2"):
            raise SystemExit(f"hostile: a good request is answered with {head.decode()}")


def mutated(chance):
    octets = bytearray(chance.choice(GOOD))
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(octets))
        kind = chance.randrange(4)
        if kind == 0:
            octets[at] = chance.randrange(256)
        elif kind == 1:
            del octets[at:at + chance.randint(1, 9)]
        elif kind == 2:
            octets[at:at] = bytes(chance.randrange(256) for _ in range(chance.randint(1, 9)))
        else:
            octets[at:at] = octets[at:at + chance.randint(1, 30)]
        if not octets:
            octets = bytearray(b"x")
    return bytes(octets)


def round_of(port, chance):
    for _ in range(MUTATIONS):
        with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
            try:
                client.sendall(mutated(chance))
                client.shutdown(socket.SHUT_WR)
                while client.recv(1 << 16):
                    pass
            except TimeoutError:
                raise SystemExit("hostile: a request has no answer and no end")
            except OSError:
                pass
    slow = []
    for _ in range(CLIENTS):
        client = socket.create_connection(("127.0.0.1", port))
        whole = chance.choice(GOOD)
        try:
            client.sendall(whole[:chance.randrange(len(whole))])
        except OSError:
            pass
        slow.append(client)
    for client in slow:
        if chance.random() < 0.5:
            # Gone with a reset.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        client.close()
    urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/__pushsim/reset", method="POST"), timeout=10)


def sockets(process):
    folder = f"/proc/{process}/fd"
    found = 0
    for name in os.listdir(folder):
        try:
            found += os.readlink(f"{folder}/{name}").startswith("socket:")
        except FileNotFoundError:
            pass
    return found


def settled(process):
    """The sockets that stay: what the clients have just left, the loops close in their turn."""
    end = time.monotonic() + 10
    while (count := sockets(process)) > 2 and time.monotonic() < end:
        time.sleep(0.005)
    return count


def memory(process):
    """Resident, in KiB."""
    for line in pathlib.Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise SystemExit("hostile: no VmRSS")


server = Server(BINARY, "serve", "--quiet", "--loops", "2", "--option", "journal.bytes=256KiB")
accepted(server.port)
chance = random.Random(11)
seen = []
for _ in range(ROUNDS):
    round_of(server.port, chance)
    seen.append((settled(server.process.pid), memory(server.process.pid)))
code, _, err = server.stop()
if code != 0:
    raise SystemExit(f"hostile: the server ended with {code}: {err}")
# The connection that asked for the last reset may still be there.
if max(count for count, _ in seen) > 2:
    raise SystemExit(f"hostile: sockets and KiB after each round: {seen}")
# What the first rounds take is kept for the next; after them nothing is added but what the allocator splinters.
growth = seen[-1][1] - seen[1][1]
if growth > 1024:
    raise SystemExit(f"hostile: {growth} KiB more after {ROUNDS} rounds than after 2: {seen}")
print(f"hostile: {ROUNDS * MUTATIONS} mutations, {ROUNDS * CLIENTS} slow or vanishing clients; RSS after each round: "
      + ", ".join(f"{kib} KiB" for _, kib in seen))
