"""Has the binary and Python's zoneinfo say when broadcasts come next, in every time zone of the system's zoneinfo.
usage: zones.py PATH-TO-PUSHSIM"""
import http.client
import json
import os
import sys
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo, reset_tzpath

from client import Server

FOLDER = "/usr/share/zoneinfo"
MINUTE = timedelta(minutes=1)
# About when clocks are changed somewhere, and when rules, rather than listed changes, decide.
TIMES = ["2026-01-01T00:00:30", "2026-03-08T06:20:00", "2026-03-08T07:10:00", "2026-03-29T00:30:00",
         "2026-03-29T01:00:00", "2026-04-04T14:10:00", "2026-10-25T00:10:00", "2026-10-25T01:10:00",
         "2026-11-01T05:40:00", "2027-09-25T13:00:00", "2037-12-31T23:59:00", "2038-03-14T06:59:00",
         "2040-02-29T10:00:00", "2104-10-26T00:20:00", "2198-11-04T05:59:59"]


def names():
    found = []
    for folder, folders, files in os.walk(FOLDER):
        folders[:] = [name for name in folders if name not in ("posix", "right")]
        for name in files:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                if file.read(4) == b"TZif":
                    found.append(os.path.relpath(path, FOLDER))
    return sorted(found)


def instant(zone, local):
    """When the clocks first show a time; where they leap over it, when they leap."""
    before, after = (local.replace(tzinfo=zone, fold=fold).astimezone(timezone.utc) for fold in (1, 0))
    if after.astimezone(zone).replace(tzinfo=None) == local:
        return after
    offset = before.astimezone(zone).utcoffset()
    while after - before > timedelta(seconds=1):
        middle = before + timedelta(seconds=(after - before) // timedelta(seconds=2))
        if middle.astimezone(zone).utcoffset() == offset:
            before = middle
        else:
            after = middle
    return after


def daily(zone, now, hour, minute):
    day = now.astimezone(zone).replace(tzinfo=None, hour=hour, minute=minute, second=0) - timedelta(days=2)
    while instant(zone, day) <= now:
        day += timedelta(days=1)
    return instant(zone, day)


def hourly(zone, now, minute):
    # By the clocks' own minutes, which need not begin with those of UTC.
    local = now.astimezone(zone)
    time = now - timedelta(seconds=local.second) + MINUTE
    while time.astimezone(zone).minute != minute:
        time += MINUTE
    return time


def main():
    reset_tzpath([FOLDER])
    zones = {name: ZoneInfo(name) for name in names()}
    if len(zones) < 300:
        raise SystemExit(f"only {len(zones)} time zones in {FOLDER}: install tzdata")
    server = Server(sys.argv[1], "serve", "--quiet", "--clock", TIMES[0] + "Z", "--option", "sunbird.validation=off")
    link = http.client.HTTPConnection("127.0.0.1", server.port)

    def call(path, body):
        link.request("POST", "/__pushsim" + path, json.dumps(body), {"Content-Type": "application/json"})
        answer = link.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise SystemExit(f"{path} {body}: {answer.status} {text}")
        return json.loads(text or "{}")

    wrong = asked = 0
    for text in TIMES:
        call("/clock", {"set": text + "Z"})
        now = datetime.fromisoformat(text).replace(tzinfo=timezone.utc)
        for name, zone in zones.items():
            for fields, expected in [("30 2 * * *", daily(zone, now, 2, 30)), ("0 0 * * *", daily(zone, now, 0, 0)),
                                     ("15 * * * *", hourly(zone, now, 15))]:
                made = call("/sunbird/broadcasts", {"payload": {"id": 1}, "repeat": fields, "timeZone": name})
                asked += 1
                if datetime.fromisoformat(made["next"].replace("Z", "+00:00")) != expected:
                    wrong += 1
                    print(f"{text} {name} {fields}: {made['next']}, and not {expected}")
        call("/reset", {})
    server.stop()
    print(f"zones: {asked - wrong} of {asked} broadcasts in {len(zones)} time zones come when Python says")
    return 1 if wrong else 0


sys.exit(main())
