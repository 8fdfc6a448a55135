"""How long cassettes take to open and how much memory, and whether looking an entry up slows with their number.
usage: cassettes.py PATH-TO-PUSHSIM (needs wrk)"""
import base64
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

BINARY = sys.argv[1]


def har(path, count, size, is_image=False):
    """So many entries whose answers have so many octets, of JSON or of an image."""
    content = {"mimeType": "application/json", "text": json.dumps(
        {"items": [{"id": n, "name": f"item {n}", "tags": ["a", "b"]} for n in range(size // 48)]})}
    if is_image:
        octets = bytes(n * 37 % 251 for n in range(size))
        content = {"mimeType": "image/png", "encoding": "base64", "text": base64.b64encode(octets).decode()}
    with open(path, "w") as file:
        file.write('{"log":{"version":"1.2","creator":{"name":"x","version":"1"},"entries":[')
        for n in range(count):
            file.write(("," if n else "") + json.dumps({
                "startedDateTime": "2024-01-01T00:00:00.000Z", "time": 1,
                "request": {"method": "GET", "url": f"https://a.example/items/{n}?page={n}", "headers": [
                    {"name": "Accept", "value": "*/*"}, {"name": "User-Agent", "value": "x"}]},
                "response": {"status": 200, "headers": [{"name": "Content-Type", "value": "application/json"}],
                             "content": content}}))
        file.write("]}}")


def opened(path, *words):
    """A replay that answers, how long it took to start, and the most memory it took, in MB."""
    with tempfile.TemporaryDirectory() as work:
        ready = f"{work}/ready"
        begun = time.monotonic()
        server = subprocess.Popen([BINARY, "replay", path, "--port", "0", "--quiet", "--ready-file", ready, *words],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not (os.path.exists(ready) and open(ready).read().endswith("\n")):
            time.sleep(0.001)
        took = time.monotonic() - begun
        url = open(ready).read().strip()
    status = open(f"/proc/{server.pid}/status").read()
    return server, url, took, int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024


def rate(url, target):
    run = subprocess.run(["wrk", "-t1", "-c8", "-d2", url + target], capture_output=True, text=True)
    return float(re.search(r"Requests/sec:\s+([\d.]+)", run.stdout)[1])


with tempfile.TemporaryDirectory() as work:
    for count, size, is_image in [(2000, 45_000, False), (2000, 45_000, True), (100_000, 400, False)]:
        path = f"{work}/large-{count}.har"
        har(path, count, size, is_image)
        megabytes = os.path.getsize(path) / 1e6
        runs = []
        for _ in range(3):
            server, _, took, memory = opened(path)
            server.kill()
            server.wait()
            runs.append((took, memory))
        took = statistics.median(run[0] for run in runs)
        memory = statistics.median(run[1] for run in runs)
        print(f"a HAR of {megabytes:.0f} MB with {count} entries{' of images' if is_image else ''}: open after {took:.2f} s, "
              f"{memory * 1.048576 / megabytes:.1f} times its size")
        os.remove(path)
    rates = {}
    for count in (10, 1000, 100_000):
        path = f"{work}/look-{count}.har"
        har(path, count, 400)
        server, url, _, _ = opened(path, "--repeat-last")
        rates[count] = statistics.median(rate(url, f"/items/{count - 1}?page={count - 1}") for _ in range(3))
        server.terminate()
        server.wait()
    print("looking up the last of 10, 1,000 and 100,000 entries: "
          + ", ".join(f"{rates[count]:.0f}" for count in rates)
          + f" requests/s, ratio {rates[100_000] / rates[10]:.2f}")
