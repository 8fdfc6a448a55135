"""The command line of the built binary: its help screens as text, and a log that nobody reads any more.
usage: command.py PATH-TO-PUSHSIM [--update]"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

from binary import call, serving

BINARY = sys.argv[1]
SCREENS = pathlib.Path(__file__).with_name("help.txt")


def check(condition, *words):
    if not condition:
        raise SystemExit("command: " + " ".join(str(word) for word in words))


def said(*words):
    run = subprocess.run([BINARY, *words], capture_output=True, timeout=20)
    check(run.returncode == 0 and not run.stderr, words, "ended with", run.returncode, run.stderr.decode())
    return run.stdout.decode()


def screens():
    """All help screens, one after the other."""
    front = said("help")
    check(front == said("--help") == said("-h"), "the three ways to ask for help differ")
    verbs = [line.split()[0] for line in front.splitlines() if line.startswith("  ") and line[2] not in " -"]
    text = "$ pushsim help\n" + front
    for verb in dict.fromkeys(verbs):
        own = said(verb, "--help")
        check(own == said("help", verb), "help", verb, "is not", verb, "--help")
        text += f"\n$ pushsim {verb} --help\n" + own
    return text


def log_reader_leaves():
    """Calls are answered although the log's reader has gone (DESIGN.md: logs never stop the server)."""
    reader, writer = os.pipe()
    server = subprocess.Popen([BINARY, "serve", "--port", "0"], stdout=subprocess.PIPE, stderr=writer)
    os.close(writer)
    url = server.stdout.readline().decode().split()[-1]
    os.close(reader)
    for _ in range(20):
        try:
            urllib.request.urlopen(url + "/v1/none", timeout=5)
        except urllib.error.HTTPError as error:
            check(error.code == 404, "answered", error.code)
    server.send_signal(signal.SIGTERM)
    check(server.wait(20) == 0, "the server ended with", server.returncode)


def accounts():
    """`profile explain --journal` (faults.md) accounts for each decision of a whole journal, and takes no other."""
    with tempfile.TemporaryDirectory() as work:
        profile = f"{work}/p.json5"
        pathlib.Path(profile).write_text(
            '{ rules: [ { on: { path: "/a" }, when: { calls: "every 2" }, then: { status: 500 } } ] }')
        with serving(BINARY, "--profile", profile) as url:
            for path in ["/a", "/b", "/a", "/a", "/a"]:
                try:
                    urllib.request.urlopen(url + path, timeout=5)
                except urllib.error.HTTPError as error:
                    check(error.code in (404, 500), path, "answered", error.code)

            def save(name, query):
                with urllib.request.urlopen(f"{url}/__pushsim/journal{query}", timeout=5) as answer:
                    pathlib.Path(f"{work}/{name}").write_bytes(answer.read())
                return f"{work}/{name}"
            whole, part = save("whole.json", ""), save("part.json", "?status=500")
        for journal, words, code, wanted in [
                (whole, [], 0, "decisions, each as the profile says"), (part, [], 1, "Entry 1 is missing"),
                (whole, ["--seed", "7"], 2, "--journal has no --seed")]:
            run = subprocess.run([BINARY, "profile", "explain", profile, "--journal", journal, *words],
                                 capture_output=True, timeout=20)
            text = run.stdout.decode() + run.stderr.decode()
            check(run.returncode == code and wanted in text, words, "ended with", run.returncode, text)


def configuration():
    """The configuration file (options.md): each of its keys acts, and a mistake is named with its place."""
    with tempfile.TemporaryDirectory() as work:
        path = f"{work}/pushsim.json5"

        def write(text):
            pathlib.Path(path).write_text(text)

        write("""{
            options: { "ntm.bodyStyle": "stringified", "fluxer.rateLimits": "off", "sunbird.types": "10,20,30,40" }, // and a comment
            accounts: [{ id: "900", name: "Ada", sessions: ["flx_0123456789abcdefghijklmnopqrstuvwxyz"] }],
            devices: [{ account: "900", platform: "ios_apns", token: "abcd" },
                      { backend: "sunbird", token: "tok-1", topics: ["/topics/tenant-1", "x"] }, { backend: "sunbird", token: "tok-2" }],
            templates: { "ntm.apns": { who: "{{to_routing_id}}", text: "<{{userdata}}|{{room_id}}>", aps: "{{aps}}", n: [1.50] } },
            profile: "calm", seed: 7, delivery: { routes: { "push.example.org": "http://127.0.0.1:9" } },
        }""")
        with serving(BINARY, "--config", path, "--clock", "frozen") as url:
            made = call(url, "POST", "/v1/subscriber", {"proto": "apns", "token": "t", "app_domain": "a.b"}, "Bearer x")
            check(isinstance(made, str) and len(json.loads(made)["id"]) == 24, "ntm.bodyStyle", made)
            subscriber = json.loads(made)["id"]
            call(url, "POST", f"/v1/subscription/subscriber/{subscriber}/topic/a.b/chat/me", b"", "Bearer x")
            call(url, "POST", "/__pushsim/ntm/notifications",
                 {"topic": "a.b/chat/me", "type": "chat", "room_id": "r1", "userdata": {"x": "{{room_id}}"}})
            got = call(url, "GET", "/__pushsim/inbox?token=t")["deliveries"][0]["dictionary"]
            check(got == {"who": "me", "text": '<{"x":"{{room_id}}"}|r1>', "aps": got["aps"], "n": [1.5]}
                  and isinstance(got["aps"], dict), "the template gives", got)
            devices = call(url, "POST", "/__pushsim/fluxer/notifications", {"channel_id": "1", "title": "a", "body": "b"})
            check([d["transport"] for d in devices["deliveries"]] == ["apns"], "devices", devices)
            payload = {"id": 1, "type": 30, "epoch": "2026-01-01T05:30:00+0530", "expiry": 60}
            for topic, wanted in [({"topic": "tenant-1"}, ["tok-1"]), ({}, ["tok-1", "tok-2"])]:
                sent = call(url, "POST", "/__pushsim/sunbird/broadcasts", {"payload": payload, **topic})
                check([d["token"] for d in sent["deliveries"]] == wanted, "tokens and types of Sunbird", sent)
            check(call(url, "GET", "/__pushsim/profile")["name"] == "calm", "profile")
        for text, wanted in [
                ("{\n  optoins: {} }", '2:3: unknown key "optoins". Did you mean "options"?'),
                ('{ options: { "ntm.bodyStile": "pair" } }', '1:14: '), ('{ options: { "ntm.bodyStyle": "pear" } }', "1:14: "),
                ("{ seed: -1 }", "1:9: seed"), ("{ templates: { fcm: {} } }", "1:16: "), ("{ seed: 1, seed: 2 }", "1:12: "),
                ('{ delivery: { routes: { a: "http://10.0.0.1:80" } } }', "1:28: a route is http://"),
                ('{ devices: [{ backend: "sunbird", token: "a b" }] }', '1:42: "token" "a b" is no registration token'),
                ('{ devices: [{ backend: "sunbird", token: "a", topics: ["t", "t"] }] }', '1:61: "topics" '),
                ('{ devices: [{ backend: "sunbird", token: "a", topics: ["t", "x y"] }] }', '1:61: "x y" is no name of a topic'),
                ('{ devices: [{ backend: "sunbird", token: "a", topics: "t" }] }', '1:55: "topics" must be a list'),
                ('{ devices: [{ backend: "sunbird", topic: "t" }] }', '1:35: unknown key "topic". Did you mean "topics"?'),
                ('{ devices: [{ backend: "ntm" }] }', '1:24: "backend" must be fluxer or sunbird'),
                ('{ options: { "sunbird.types": "1,2,3,3" } }', "1:14: "),
                ('{ profile: "no-such" }', "no-such"), ("{ seed: 1", "1:10: "), ("[]", "1:1: ")]:
            write(text)
            run = subprocess.run([BINARY, "serve", "--port", "0", "--config", path], capture_output=True, timeout=20)
            check(run.returncode == 1 and wanted in run.stderr.decode() and not run.stdout, text, "is told as", run)


text = screens()
if "--update" in sys.argv:
    SCREENS.write_text(text)
check(SCREENS.read_text() == text, "the help screens are not those of help.txt: look at them, then run with --update")
log_reader_leaves()
accounts()
configuration()
print(f"command: {text.count('$ pushsim')} help screens as written, the log's reader may leave")
