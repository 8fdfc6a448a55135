"""Records a nasty upstream with the real binary, replays it, and compares every answer octet by octet.
usage: recording.py PATH-TO-PUSHSIM"""
import base64
import gzip
import json
import os
import random
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

from client import Server, ask, request, taken_apart
from upstream import JSON, Upstream, answer

BINARY = sys.argv[1]


def check(condition, *words):
    if not condition:
        raise SystemExit("recording: " + " ".join(str(word) for word in words))


def record(out, upstream, work, *flags):
    return Server(BINARY, "record", "--upstream", upstream, "--out", out, *flags)


def requests():
    form = [("Content-Type", "application/x-www-form-urlencoded")]
    boundary = b"--zz\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a\"\r\n\r\n\x00\x01\xff\r\n--zz--\r\n"
    all_of_them = [request("GET", path) for path in Upstream().routes if path not in ("/poll", "/head", "/echo")]
    return all_of_them + [
        request("GET", "/poll"), request("GET", "/poll"), request("GET", "/poll"), request("HEAD", "/head"),
        request("POST", "/echo", form, b"a=1%2B1&b=x+y&a=%20"), request("POST", "/echo", form, b"a=1+1"),
        request("POST", "/echo", [("Content-Type", "multipart/form-data; boundary=zz")], boundary),
        request("PUT", "/echo", JSON, '{"é": [1.0, 2e3], "z": null}'.encode()),
        request("PATCH", "/echo", [], bytes(range(256))), request("GET", "/echo?a=%2B&b=+&a=2"),
        request("DELETE", "/none/%2F..//x"), request("MKCOL", "/none"), request("POST", "/echo", [("Content-Length", "0")]),
        b"GET /trailers?old HTTP/1.0\r\nHost: a.example\r\n\r\n", b"GET /interim?old HTTP/1.0\r\nHost: a.example\r\n\r\n",
        b"GET /as-asked HTTP/1.0\r\nHost: a.example\r\nX-Old: 1\r\n\r\n",
    ]


def passes_on(seen):
    """What the recorder gave its clients is what the upstream gives without one."""
    direct = Upstream()
    for octets, (data, end) in seen:
        own, ended = ask(direct.port, octets)
        line = octets.split(b"\r\n")[0].decode()
        wanted, got = taken_apart(octets, own), taken_apart(octets, data)
        if b"?old HTTP/1.0" in octets:
            # Chunks and interim answers, which such a client does not know, are spared it.
            wanted = [[field for field in wanted[0][-1] if b"chunked" not in field]], wanted[1].split(b"|trailers|")[0]
            ended = end
        check(wanted == got, line, "is passed on as", got[0], got[1][:80], "not as", wanted[0], wanted[1][:80])
        check(end == ended, line, "ended with", end, "not", ended)
    direct.stop()


def nasty(work):
    upstream = Upstream()
    out = f"{work}/nasty.har"
    recorder = record(out, f"http://127.0.0.1:{upstream.port}", work, "--timeout", "400ms")
    seen = [(octets, ask(recorder.port, octets)) for octets in requests()]
    passes_on(seen)
    code, said, err = recorder.stop()
    check(code == 0, "the recorder ended with", code, err)
    upstream.stop()
    json.load(open(out))
    # Cookies are secrets: what they were is given here, so that all octets can be compared.
    replayer = Server(BINARY, "replay", out, "--complete", "--quiet", "--secret", "cookie.1=1", "--secret", "cookie.2=dark")
    for octets, (data, end) in seen:
        again, ended = ask(replayer.port, octets)
        line = octets.split(b"\r\n")[0].decode()
        wanted, got = taken_apart(octets, data), taken_apart(octets, again)
        check(end == ended, line, "ended with", ended, "not", end)
        check(wanted[0] == got[0], line, "heads", wanted[0], "against", got[0])
        check(wanted[1] == got[1], line, "bodies", wanted[1][:80], "against", got[1][:80])
    code, said, err = replayer.stop()
    check(code == 0, "the replay ended with", code, err)
    ends = sorted({end for _, (_, end) in seen})
    check(ends == ["fin", "open", "rst"], "kinds of end", ends)
    return len(seen)


def refused(work):
    """A server that is not there, and one that nobody knows."""
    closed = socket.create_server(("127.0.0.1", 0))
    port = closed.getsockname()[1]
    closed.close()
    for number, (url, kind) in enumerate([
            (f"http://127.0.0.1:{port}", "refused"), ("http://no-such-host.invalid", "dns")]):
        out = f"{work}/refused-{number}.har"
        recorder = record(out, url, work, "--timeout", "5s")
        check(ask(recorder.port, request("GET", "/x"), 6) == (b"", "rst"), kind, "is a reset")
        recorder.stop()
        entry = json.load(open(out))["log"]["entries"][0]
        check(entry["_pushsim"]["failure"] == kind, url, "is", entry["_pushsim"], "not", kind)
        replayer = Server(BINARY, "replay", out, "--quiet")
        check(ask(replayer.port, request("GET", "/x")) == (b"", "rst"), kind, "is replayed as a reset")
        replayer.stop()


def certificates(work):
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    import datetime
    import ipaddress
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = (x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
                   .serial_number(1).not_valid_before(now - datetime.timedelta(1))
                   .not_valid_after(now + datetime.timedelta(1))
                   .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
                   .add_extension(x509.BasicConstraints(True, None), True).sign(key, hashes.SHA256()))
    pem = f"{work}/ca.pem"
    with open(pem, "wb") as file:
        file.write(certificate.public_bytes(serialization.Encoding.PEM))
    both = f"{work}/both.pem"
    with open(both, "wb") as file:
        file.write(key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
        file.write(certificate.public_bytes(serialization.Encoding.PEM))
    return pem, both


def tls(work):
    pem, both = certificates(work)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(both)
    upstream = Upstream(context)
    for flags, wanted in [(["--ca", pem], "fin"), ([], "rst")]:
        out = f"{work}/tls.har"
        recorder = record(out, f"https://127.0.0.1:{upstream.port}", work, *flags)
        data, end = ask(recorder.port, request("GET", "/close"), 5)
        check(end == wanted and data.endswith(b"bye") == bool(flags), "TLS with", flags, data, end)
        recorder.stop()
    check(json.load(open(out))["log"]["entries"][0]["_pushsim"]["failure"] == "tls", "a certificate that nobody knows")
    upstream.stop()


def twice(work):
    """The same session in two processes, 50 requests at once, gives the same octets."""
    files = []
    for run in range(2):
        # No answer before all have asked: they are under way at once.
        asked = threading.Barrier(53)

        def together(answered):
            return lambda r: (asked.wait(20), answered(r))[1]

        upstream = Upstream()
        upstream.routes = {path: together(answered) for path, answered in upstream.routes.items()}
        out = f"{work}/twice-{run}/a.har"
        os.mkdir(os.path.dirname(out))
        recorder = record(
            out, f"http://127.0.0.1:{upstream.port}", work, "--redact", "query:who", "--origin", "https://a.example")
        octets = [
            request("POST", f"/echo?who=user-{i % 25:04}", [("Authorization", f"Bearer token-{i % 25:04}")] + JSON,
                    b'{"n":%d,"password":"secret-%04d"}' % (i % 10, i % 25)) for i in range(50)]
        octets += [request("GET", "/gzip"), request("GET", "/sse"), request("GET", "/cookies")]
        order = list(octets)
        random.Random(run).shuffle(order)
        statuses = []
        threads = [
            threading.Thread(target=lambda one: statuses.append(ask(recorder.port, one, 20)[0][:12]), args=(one,))
            for one in order]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        check(statuses == [b"HTTP/1.1 200"] * 53, "answers", statuses)
        check(recorder.stop()[0] == 0, "the recorder ended badly")
        upstream.stop()
        files.append(open(out, "rb").read())
    check(files[0] == files[1], "two recordings of the same session differ")
    check(files[0].count(b'"startedDateTime"') == 53, "entries", files[0].count(b'"startedDateTime"'))


SECRET = "hunter2/S3cret+pw"


def forms_of(secret):
    raw = secret.encode()
    once = urllib.parse.quote(secret, safe="")
    found = {raw, once.encode(), urllib.parse.quote(once, safe="").encode(), raw.hex().encode(), once.lower().encode()}
    for lead in range(3):
        text = base64.b64encode(b"\0" * lead + raw)
        core = text[(0, 2, 3)[lead]:-4]
        found |= {core, core.replace(b"+", b"-").replace(b"/", b"_")}
    return found


def secrets(work):
    jwt = "eyJhbGciOiJFUzI1NiJ9." + base64.urlsafe_b64encode(b'{"sub":"alice"}').rstrip(b"=").decode() + ".c2lnbmF0dXJl"
    basic = base64.b64encode(f"alice:{SECRET}".encode()).decode()
    twice_encoded = urllib.parse.quote(urllib.parse.quote(SECRET, safe=""), safe="")
    blob = base64.b64encode(json.dumps({"inner": SECRET, "n": 1}).encode()).decode()
    everything = [
        ("Authorization", f"Bearer {jwt}"), ("X-Basic", f"Basic {basic}"), ("Cookie", f"sid={SECRET.replace('/', '.')}; a=b"),
        ("X-Twice", twice_encoded), ("X-Blob", blob)]
    echo = lambda r: (answer("200 OK", JSON + [("X-Got", dict(r["fields"]).get("X-Twice", ""))], json.dumps({
        "token": "issued-token-12345", "you": json.loads(r["body"])["password"], "mail": "alice@example.com",
        "text": "was " + json.loads(r["body"])["password"] + "!"}).encode()), "keep")
    upstream = Upstream(extra={"/login": echo, "/again": lambda r: (answer("200 OK", [], b"ok"), "keep")})
    out = f"{work}/secrets.har"
    recorder = record(out, f"http://127.0.0.1:{upstream.port}", work, "--redact", "header:X-Basic")
    body = json.dumps({"password": SECRET, "device_token": "0123abcd" * 8, "note": "escaped: " + SECRET}).encode()
    body = body.replace(b"escaped: hunter2", b"escaped: h\\u0075nter2")
    login = request("POST", "/login?token=" + urllib.parse.quote(SECRET, safe=""), everything + JSON, body)
    first = ask(recorder.port, login)[0]
    form = request("POST", "/again/" + urllib.parse.quote(SECRET, safe=""), [
        ("Content-Type", "application/x-www-form-urlencoded")], f"x={urllib.parse.quote_plus(SECRET)}&email=bob%40example.org".encode())
    ask(recorder.port, form)
    parts = f"--q\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\n{SECRET}\r\n--q--\r\n".encode()
    ask(recorder.port, request("POST", "/again", [("Content-Type", "multipart/form-data; boundary=q")], parts))
    code, _, err = recorder.stop()
    check(code == 0, "secrets: the recorder ended with", code, err)
    written = open(out, "rb").read()
    for form_ in forms_of(SECRET) | forms_of("0123abcd" * 8) | {jwt.encode(), b"issued-token-12345", basic.encode(),
                                                               b"alice@example.com", b"bob%40example.org", b"bob@example.org"}:
        check(form_ not in written, "the secret stands in the file as", form_)
    check(b"{{password.1}}" in written or b"{{authorization" in written, "no placeholders")
    code = subprocess.run([BINARY, "cassette", "check", out], capture_output=True)
    check(code.returncode == 0, "check finds", code.stderr.decode())
    # Another secret of the caller's own: it is bound, and given back.
    replayer = Server(BINARY, "replay", out, "--quiet")
    check(json.loads(ask(replayer.port, login)[0].partition(b"\r\n\r\n")[2])["text"] == f"was {SECRET}!", "the own value")
    replayer.stop()
    other = "other + \"value\"/%41"
    mine = json.dumps({"password": other, "device_token": "ffff", "note": "escaped: " + other}).encode()
    replayer = Server(BINARY, "replay", out, "--quiet")
    octets = request("POST", "/login?token=" + urllib.parse.quote(other, safe=""), [
        ("X-Twice", urllib.parse.quote(urllib.parse.quote(other, safe=""), safe=""))] + JSON, mine)
    heads, got = taken_apart(octets, ask(replayer.port, octets)[0])
    check(json.loads(got)["text"] == f"was {other}!" and json.loads(got)["you"] == other, "not the caller's value", heads, got)
    replayer.stop()
    upstream.stop()
    check(len(first) > 0, "no answer")


def unreachable_secret(work):
    """A secret where redaction does not reach makes the write refuse, and name the place."""
    upstream = Upstream()
    out = f"{work}/unreachable.har"
    with open(out, "w") as file:
        file.write("the old one")
    recorder = record(out, f"http://127.0.0.1:{upstream.port}", work)
    ask(recorder.port, request("GET", "/end", [("Authorization", "Bearer verysecretvalue"), ("X-verysecretvalue", "1")]))
    code, _, err = recorder.stop()
    check(code == 1 and "log.entries[0].request.headers[2].name" in err, "refusal says", code, err)
    check("verysecretvalue" not in err, "the message tells the secret")
    check(open(out).read() == "the old one", "the old cassette is gone")
    upstream.stop()


def locked(work):
    upstream = Upstream()
    out = f"{work}/locked.har"
    recorder = record(out, f"http://127.0.0.1:{upstream.port}", work)
    second = subprocess.run([BINARY, "record", "--upstream", "http://127.0.0.1:1", "--out", out, "--port", "0"],
                            capture_output=True, timeout=10)
    check(second.returncode == 1 and b"another recorder" in second.stderr, "two recorders on a file", second)
    recorder.stop()
    check(not os.path.exists(f"{work}/.locked.har.lock"), "the lock stays")
    upstream.stop()


def fail_closed(work):
    """What a replay asks of the kernel, whatever it is asked: one listener on loopback, and no connection out."""
    upstream = Upstream()
    out = f"{work}/closed.har"
    recorder = record(out, f"http://127.0.0.1:{upstream.port}", work, "--origin", "https://backend.example.com")
    for n in (1, 1, 2):
        ask(recorder.port, request("POST", f"/echo?n={n}", JSON, b'{"n":%d}' % n))
    ask(recorder.port, request("GET", "/gzip"))
    recorder.stop()
    upstream.stop()
    tracer = shutil.which("strace")
    check(tracer, "strace is missing: apt-get install strace")
    log = f"{work}/trace"
    replayer = Server(tracer, "-f", "-qq", "-e", "trace=%network", "-o", log, BINARY, "replay", out, "--quiet")
    statuses = []
    for target, body in [("/echo?n=1", b'{"n":1}')] * 3 + [("/echo?n=2", b'{"n":3}'), ("/none", b""), ("/gzip?x", b"")]:
        answer_ = ask(replayer.port, request("POST" if body else "GET", target, JSON if body else [], body))[0]
        statuses.append(int(answer_.split()[1]))
    absolute = ask(replayer.port, request("GET", "http://backend.example.com/none"))[0]
    check(statuses == [200, 200, 501, 501, 501, 501] and b" 501 " in absolute, "answers", statuses, absolute)
    children = open(f"/proc/{replayer.process.pid}/task/{replayer.process.pid}/children").read().split()
    check(children and not any("libcurl" in open(f"/proc/{child}/maps").read() for child in children), "libcurl is loaded")
    for child in children:
        os.kill(int(child), signal.SIGTERM)
    replayer.process.communicate(timeout=30)
    calls = open(log).read()
    check("listen(" in calls and "accept" in calls, "the trace is empty", calls[:200])
    check(not re.search(r"connect\(|AF_INET6|sendto\([^)]*sin_addr|socketpair", calls), "went out:", calls)
    check(set(re.findall(r'bind\(.*inet_addr\("([^"]*)"\)', calls)) == {"127.0.0.1"}, "listens elsewhere", calls)
    check(calls.count("socket(AF_INET, ") == 1, "sockets of its own", calls)


def codings(work):
    """An upstream is asked for codings only that can be searched for secrets."""
    upstream = Upstream()
    recorder = record(f"{work}/codings.har", f"http://127.0.0.1:{upstream.port}", work)
    asked = ["gzip, deflate, br, zstd", "br;q=1.0, gzip;q=0.8, *;q=0.1", "br", "GZIP", "identity", ""]
    for value in asked:
        ask(recorder.port, request("GET", "/end", [("Accept-Encoding", value)]))
    ask(recorder.port, request("GET", "/end"))
    recorder.stop()
    upstream.stop()
    got = [dict((name.lower(), value) for name, value in call["fields"]).get("accept-encoding") for call in upstream.seen]
    check(got == ["gzip, deflate", "gzip;q=0.8", "identity", "GZIP", "identity", "identity", None], "asked for", got)


def says_all(work):
    """A replay that ends tells of calls without a recording and of recordings without a call."""
    upstream = Upstream()
    out = f"{work}/all.har"
    recorder = record(out, f"http://127.0.0.1:{upstream.port}", work)
    ask(recorder.port, request("GET", "/end"))
    recorder.stop()
    upstream.stop()
    replayer = Server(BINARY, "replay", out, "--complete")
    ask(replayer.port, request("GET", "/none"))
    code, _, err = replayer.stop()
    check(code == 1 and "that no recording answers" in err and "nobody asked for" in err, "it said", code, err)


def who_asks(work):
    """What stood for a secret in a header is bound: echoed, kept, and another value is somebody else. Numbers come back as
    numbers."""
    def echo(r):
        token = dict(r["fields"])["Authorization"].split()[1]
        pin = json.loads(r["body"])["pin"]
        return answer("200 OK", JSON, json.dumps({"token": token, "pin": pin}).encode()), "keep"
    upstream = Upstream(extra={"/me": echo})
    out = f"{work}/who.har"
    recorder = record(out, f"http://127.0.0.1:{upstream.port}", work)

    def me(token, pin):
        return request("POST", "/me", [("Authorization", f"Bearer {token}")] + JSON, b'{"pin":%d}' % pin)
    for token, pin in [("token-of-alice", 123456), ("token-of-bob", 654321)] * 2:
        ask(recorder.port, me(token, pin))
    recorder.stop()
    text = open(out).read()
    check("123456" not in text and "token-of" not in text and ':number}}' in text, "secrets", text)
    replayer = Server(BINARY, "replay", out, "--quiet")

    def status_and_body(octets):
        head, _, body = ask(replayer.port, octets)[0].partition(b"\r\n\r\n")
        return int(head.split()[1]), json.loads(body)
    check(status_and_body(me("token-of-carol", 11111)) == (200, {"token": "token-of-carol", "pin": 11111}), "carol")
    check(status_and_body(me("token-of-dave", 22222)) == (200, {"token": "token-of-dave", "pin": 22222}), "dave")
    code, body = status_and_body(me("token-of-eve", 11111))
    check(code == 501 and "stood for another value" in json.dumps(body), "eve", code, body)
    check(status_and_body(me("token-of-carol", 11111))[0] == 200, "carol again")
    check(status_and_body(me("token-of-carol", 11111))[0] == 501, "carol has used hers up")
    code, _, err = replayer.stop()
    check(code == 1 and "POST /me" in err, "a replay with unmatched requests ended with", code, err)
    return upstream, out


def live(work, upstream, out):
    """The upstream asked again: secrets that differ are no drift and not shown, what really differs is."""
    words = ["--secret", "authorization.1=a-live-token", "--secret", "authorization.2=b-live-token",
             "--secret", "pin.1=314159", "--secret", "pin.2=271828"]

    def verify(url):
        run = subprocess.run([BINARY, "record", "--upstream", url, "--verify-live", out, *words],
                             capture_output=True, timeout=30)
        return run.returncode, run.stdout.decode() + run.stderr.decode()
    here = f"http://127.0.0.1:{upstream.port}"
    code, said = verify(here)
    check(code == 0 and "live-token" not in said, "no drift", code, said)
    good = upstream.routes["/me"]
    upstream.routes["/me"] = lambda r: (good(r)[0].replace(b'"pin"', b'"tin"'), "keep")
    code, said = verify(here)
    check(code == 1 and "has drifted" in said and "live-token" not in said, "drift", code, said)
    upstream.stop()
    code, said = verify("http://127.0.0.1:1")
    check(code == 1 and "cannot be reached (refused)" in said, "nobody", code, said)


def chunk_times(work):
    """When each chunk came is kept, and played, never early."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve():
        client = server.accept()[0]
        client.recv(65536)
        client.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
        time.sleep(0.3)
        client.sendall(b"3\r\ntwo\r\n0\r\n\r\n")
        client.close()
    threading.Thread(target=serve, daemon=True).start()
    out = f"{work}/chunks.har"
    recorder = record(out, f"http://127.0.0.1:{server.getsockname()[1]}", work, "--timings")
    ask(recorder.port, request("GET", "/slow"), 3)
    recorder.stop()
    own = json.load(open(out))["log"]["entries"][0]["_pushsim"]
    first, second = own["chunkTimes"]
    check(own["chunks"] == [3, 3] and second - first >= 299, "chunk times", own)
    replayer = Server(BINARY, "replay", out, "--quiet", "--timing", "recorded")
    with socket.create_connection(("127.0.0.1", replayer.port)) as client:
        client.sendall(request("GET", "/slow"))
        data, seen = b"", {}
        while b"0\r\n\r\n" not in data:
            data += client.recv(65536)
            for word in (b"one", b"two"):
                if word in data:
                    seen.setdefault(word, time.monotonic())
    check(seen[b"two"] - seen[b"one"] >= (second - first) / 1000 - 0.02, "the second chunk came early", seen)
    replayer.stop()
    server.close()


def odd_files(work):
    """Files that would never end, or fill the memory, do neither."""
    bomb = gzip.compress(bytes(300 << 20))
    har = {"log": {"entries": [{"request": {"url": "https://a.example/"}, "response": {"status": 200, "content": {
        "encoding": "base64", "text": base64.b64encode(bomb).decode()}}}]}}
    for name, octets in [("bomb.har", json.dumps(har).encode()), ("bomb.gz", bomb)]:
        path = f"{work}/{name}"
        with open(path, "wb") as file:
            file.write(octets)
        show = f'ulimit -v {200 * 1024}; exec "$0" cassette show "$1"'
        run = subprocess.run(["bash", "-c", show, BINARY, path], capture_output=True, timeout=30)
        check(run.returncode == (1 if name == "bomb.gz" else 0), name, run)
    os.mkfifo(f"{work}/pipe")
    har["log"]["entries"][0]["response"]["content"] = {"_file": "pipe"}
    with open(f"{work}/pipe.har", "w") as file:
        json.dump(har, file)
    run = subprocess.run([BINARY, "cassette", "show", f"{work}/pipe.har"], capture_output=True, timeout=10)
    check(run.returncode == 0 and b"R16" in run.stdout, "a pipe", run)


def killed(work, times):
    """Killed at any moment of writing, the recorder leaves the old cassette or the new one."""
    upstream = Upstream()
    chance = random.Random(5)
    out = f"{work}/killed.har"
    olds = news = late = number = 0
    took = 0.05
    while olds + news < times:
        for path in [out] + [f"{work}/{name}" for name in os.listdir(work) if name.startswith("killed.har.")]:
            if os.path.exists(path):
                os.remove(path)
        with open(out, "w") as file:
            json.dump({"log": {"entries": [], "_old": number}}, file)
        recorder = record(out, f"http://127.0.0.1:{upstream.port}", work)
        for index in range(4):
            ask(recorder.port, request("PUT", f"/echo?n={index}", [], b"x" * 100_000))
        number += 1
        if number % 10 == 1:
            # Now and then it may finish: that says how long it takes, and so when to kill the next.
            began = time.monotonic()
            recorder.stop()
            took = time.monotonic() - began
        else:
            recorder.process.send_signal(signal.SIGTERM)
            time.sleep(chance.uniform(0, took * 1.2))
            recorder.process.kill()
            recorder.process.communicate()
        # One that had ended before is checked, but was not killed.
        was_killed = recorder.process.returncode == -signal.SIGKILL
        har = json.load(open(out))
        if "_old" in har["log"]:
            check(was_killed, "it ended, and the old cassette is there", recorder.process.returncode)
            olds += 1
            continue
        if was_killed:
            news += 1
        else:
            late += 1
        check(len(har["log"]["entries"]) == 4, "entries", len(har["log"]["entries"]))
        for entry in har["log"]["entries"]:
            path = f"{work}/{entry['request']['postData']['_file']}"
            check(open(path, "rb").read() == b"x" * 100_000, "a torn body")
    upstream.stop()
    measured = (number + 9) // 10
    check(olds > 0 and news + late > measured, "killed too early or too late each time", olds, news, late)
    return olds, news


def main():
    with tempfile.TemporaryDirectory() as work:
        count = nasty(work)
        print(f"recording: {count} exchanges recorded and replayed, each the same")
        refused(work)
        tls(work)
        twice(work)
        secrets(work)
        unreachable_secret(work)
        locked(work)
        fail_closed(work)
        codings(work)
        says_all(work)
        live(work, *who_asks(work))
        chunk_times(work)
        odd_files(work)
        olds, news = killed(work, int(os.environ.get("PUSHSIM_KILLS", "200")))
        print(f"recording: killed {olds + news} times, {olds} left the old cassette and {news} the new one, none a torn one")
    print("recording: good")


main()
