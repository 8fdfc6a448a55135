#!/usr/bin/env python3
"""Asked against got, for what a profile makes wait. usage: accuracy.py PATH-TO-PUSHSIM"""
import asyncio
import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "EndToEndTests"))
from binary import call, serving  # noqa: E402

REQUEST = b"GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def exchange(port, pauses, length):
    """Seconds from just before the request was sent to each piece that came."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    arrivals = []
    for _ in range(pauses):
        sent = time.monotonic()
        writer.write(REQUEST)
        got = b""
        while b"\r\n\r\n" not in got or len(got.split(b"\r\n\r\n", 1)[1]) < length:
            part = await reader.read(65536)
            arrivals.append((time.monotonic() - sent, len(part)))
            got += part
    writer.close()
    return arrivals


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * share))]


def main():
    with serving(sys.argv[1]) as url:
        port = int(url.rsplit(":", 1)[1])

        def profile(then):
            call(url, "PUT", "/__pushsim/profile", json.dumps(
                {"rules": [{"on": {"path": "/none"}, "then": {"status": 200, "body": "x" * 4000, **then}}]}).encode())

        async def many(connections, pauses):
            runs = await asyncio.gather(*(exchange(port, pauses, 4000) for _ in range(connections)))
            return [arrival for run in runs for arrival in run]

        for asked, pauses in ((1, 200), (10, 50), (100, 10), (1000, 2)):
            profile({"delay": f"{asked}ms"})
            for connections in (1, 64):
                got = [when * 1000 for when, _ in asyncio.run(many(connections, pauses if connections == 1 else 3))]
                print(f"delay {asked} ms, {connections} connections: p50 {percentile(got, 0.5):.2f} ms,"
                      f" p99 {percentile(got, 0.99):.2f} ms, earliest {min(got):.2f} ms")
        profile({"wire": {"dribble": {"pieces": 11, "over": "500ms"}}})
        times = [when for when, _ in asyncio.run(many(1, 1))]
        gaps = [(b - a) * 1000 for a, b in zip(times[-11:], times[-10:])]
        print(f"dribble, gaps of 50 ms: p50 {percentile(gaps, 0.5):.1f} ms, p99 {percentile(gaps, 0.99):.1f} ms")
        profile({"wire": {"bandwidth": "8kB/s"}})
        arrivals = asyncio.run(many(1, 1))
        octets = sum(count for _, count in arrivals[1:])
        print(f"bandwidth 8 kB/s: {octets / 1000 / (arrivals[-1][0] - arrivals[0][0]):.2f} kB/s")


main()
