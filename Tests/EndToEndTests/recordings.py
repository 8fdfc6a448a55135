"""Makes the shipped recordings with `pushsim record` against the fake, compares them with those in the repository, and
replays each.
usage: recordings.py PATH-TO-PUSHSIM [--update]"""
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import urllib.request

from client import Server, ask, request, taken_apart

BINARY = sys.argv[1]
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../recordings")
BEARER = [("Authorization", "Bearer alice-session-token")]
SESSION = [("Authorization", "fluxer-session-of-alice"), ("Content-Type", "application/json")]
FORM = BEARER + [("Content-Type", "application/x-www-form-urlencoded")]
JSON = BEARER + [("Content-Type", "application/json")]
KEY = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
SECRET = "BTBZMqHH6r4Tts7J_aSIgg"
APNS = b'{"proto":"apns","token":"7a1f0c4e9b2d48c6a5e3f1d0b9c8a7e6","app_domain":"example.com"}'
XMPP = b'{"proto":"xmpp","token":"alice@example.com","app_domain":"example.com"}'
DEVICES = "/v1/users/@me/mobile-devices"


def device(platform="ios_apns_voip", **changes):
    body = {"platform": platform, "token": "https://push.example.org/push/endpoint-of-alice", "encryption_key": KEY,
            "auth_secret": SECRET}
    body.update(changes)
    return json.dumps(body, separators=(",", ":")).encode()


def post(path, body=b"", fields=JSON):
    return lambda port: ask(port, request("POST", path, fields, body))


def identity(port, body):
    """Registers, and gives the subscriber's id."""
    data, _ = ask(port, request("POST", "/v1/subscriber", FORM, body))
    return json.loads(data.partition(b"\r\n\r\n")[2])["id"]


TOPICS = ["example.com/video/alice%40example.com", "federation/pstn/alice%40example.com",
          "example.com/chat/alice%40example.com"]


def topics(port):
    path = f"/v1/subscription/subscriber/{identity(port, APNS)}/topic/"
    for topic in TOPICS:
        ask(port, request("POST", path + topic, JSON, b'{"apn_topic":"com.example.app.voip"}'))


def deregister(port, body):
    number = identity(port, body)
    path = f"/v1/subscription/subscriber/{number}/topic/"
    for topic in TOPICS:
        ask(port, request("POST", path + topic, JSON))
    for topic in TOPICS:
        ask(port, request("DELETE", path + topic, BEARER))
    for _ in range(2):
        ask(port, request("DELETE", f"/v1/subscriber/{number}", BEARER))


def unregister(port):
    ask(port, request("POST", DEVICES, SESSION, device()))
    ask(port, request("GET", DEVICES, SESSION[:1]))
    ask(port, request("POST", DEVICES + "/unregister", SESSION,
                      b'{"platform":"ios_apns_voip","token":"https://push.example.org/push/endpoint-of-alice"}'))
    ask(port, request("GET", DEVICES, SESSION[:1]))


def mistakes(port):
    for body in [device(platform="windows"), device(token=""), device(encryption_key=None),
                 device(token="https://127.0.0.1/push"), b'{"platform":', b"[]"]:
        ask(port, request("POST", DEVICES, SESSION, body))


def limited(port):
    for number in range(60):
        body = device(token=f"https://push.example.org/push/endpoint-{number:02}")
        if ask(port, request("POST", DEVICES, SESSION, body))[0].startswith(b"HTTP/1.1 429"):
            return
    raise SystemExit("recordings: no 429 came")


def delivered(verb, **body):
    """Registers a device, and has the fake push to it through the recorder."""
    def run(port, fake):
        platform = "ios_apns_voip" if verb == "rings" else "android_unified_push"
        ask(port, request("POST", DEVICES, SESSION, device(platform)))
        if fake is None:
            return
        call = urllib.request.Request(
            f"http://127.0.0.1:{fake}/__pushsim/fluxer/{verb}", json.dumps(body).encode(), method="POST")
        urllib.request.urlopen(call, timeout=10).read()
    return run


FCM = [("Authorization", "Bearer ya29.oauth-token-of-the-sender"), ("Content-Type", "application/json")]
GREETING = {"id": 7, "type": 2, "epoch": "2026-01-01T05:30:00+0530", "expiry": 1440, "actiondata": {
    "translations": {"en": {"title": "Hello", "msg": "A new course is there"}, "hi": {"title": "x", "msg": "y"}}}}


def broadcast(port):
    """A device registers and goes on its tenant's topic; the platform sends to it, then somebody through FCM itself."""
    own = [("Authorization", "AidLogin 4711:8899"), ("Content-Type", "application/x-www-form-urlencoded")]
    data, _ = ask(port, request("POST", "/iid/register", own, b"device=4711&app=org.sunbird.app&sender=590376"))
    token = data.rpartition(b"token=")[2].decode()
    ask(port, request("POST", "/iid/register", own, f"X-gcm.topic=%2Ftopics%2Ftenant-1&sender={token}".encode()))
    ask(port, request("GET", f"/iid/info/{token}?details=true", FCM[:1]))
    sending = {"request": {"notifications": [{
        "mode": "device", "deliveryType": "message", "config": {"topic": "tenant-1"}, "ids": [], "rawData": GREETING}]}}
    ask(port, request("POST", "/v1/notification/send", FCM[1:], json.dumps(sending).encode()))
    message = {"message": {"topic": "tenant-1", "data": {"payload": json.dumps(GREETING)}}}
    ask(port, request("POST", "/v1/projects/sunbird/messages:send", FCM, json.dumps(message).encode()))


SESSIONS = {
    "ntm-register-apns": post("/v1/subscriber", APNS, FORM),
    "ntm-register-xmpp": post("/v1/subscriber", XMPP, FORM),
    "ntm-topics": topics,
    "ntm-deregister-apns": lambda port: deregister(port, APNS),
    "ntm-deregister-xmpp": lambda port: deregister(port, XMPP),
    "fluxer-register": post(DEVICES, device(), SESSION),
    "fluxer-unregister": unregister,
    "fluxer-bad-requests": mistakes,
    "fluxer-rate-limited": limited,
    "fluxer-delivery": delivered("notifications", channel_id="42", message_id="7", title="Hi", body="there"),
    "fluxer-clear": delivered("clears", channel_id="42", message_id="7"),
    "fluxer-ring": delivered("rings", channel_id="42", message_id="7", caller_id="9", caller_name="Ada"),
    "sunbird-broadcast": broadcast,
}


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def record(name, session, work):
    out = f"{work}/{name}.har"
    recorder_port = free_port()
    config = f"{work}/{name}.json5"
    with open(config, "w") as file:
        json.dump({"delivery": {"routes": {"push.example.org": f"http://127.0.0.1:{recorder_port}"}}}, file)
    fake = Server(BINARY, "serve", "--clock", "frozen", "--config", config, "--quiet")
    origin = "https://ntm.example.com" if name.startswith("ntm") else "https://api.example.org"
    recorder = Server(
        BINARY, "record", "--upstream", f"http://127.0.0.1:{fake.port}", "--push-upstream",
        f"http://127.0.0.1:{fake.port}", "--origin", origin, "--push-origin", "https://push.example.org", "--out", out,
        "--private-key", "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94", "--auth-secret", SECRET, port=recorder_port)
    if session.__code__.co_argcount == 2:
        session(recorder.port, fake.port)
    else:
        session(recorder.port)
    code, _, err = recorder.stop()
    fake.stop()
    if code != 0:
        raise SystemExit(f"recordings: {name}: {err}")
    return out


def replay(name, session, file):
    """The same session against the recording uses every entry and meets nothing unknown."""
    replayer = Server(BINARY, "replay", file, "--complete")
    if session.__code__.co_argcount == 2:
        # What was pushed comes by itself.
        session(replayer.port, None)
    else:
        session(replayer.port)
    code, _, err = replayer.stop()
    if code != 0 or " 501" in err:
        raise SystemExit(f"recordings: {name} does not replay: {err}")


def main():
    update = sys.argv[2:] == ["--update"]
    with tempfile.TemporaryDirectory() as work:
        for name, session in SESSIONS.items():
            made = record(name, session, work)
            kept = f"{FOLDER}/{name}.har"
            if update:
                os.makedirs(FOLDER, exist_ok=True)
                shutil.copyfile(made, kept)
            with open(made, "rb") as new, open(kept, "rb") as old:
                if new.read() != old.read():
                    subprocess.run(["diff", kept, made])
                    raise SystemExit(f"recordings: {name} is not what is recorded now")
            replay(name, session, kept)
            checked = subprocess.run([BINARY, "cassette", "check", kept], capture_output=True, text=True)
            if checked.returncode != 0:
                raise SystemExit(f"recordings: {checked.stderr}")
    print(f"recordings: {len(SESSIONS)} recorded again, each the same octets, and replayed")


main()
