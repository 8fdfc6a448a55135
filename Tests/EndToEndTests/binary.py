"""Starts the built binary and talks to it."""
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.request

SHARED = pathlib.Path(__file__).resolve().parents[3] / "shared" / "data"


@contextlib.contextmanager
def serving(binary, *words):
    """The URL of a server that runs as long as the block does."""
    with tempfile.TemporaryDirectory() as work:
        ready = os.path.join(work, "ready")
        command = [binary, "serve", "--port", "0", "--quiet", "--ready-file", ready, *words]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            while not os.path.exists(ready):
                if server.poll() is not None:
                    sys.exit("the server did not start")
                time.sleep(0.01)
            yield pathlib.Path(ready).read_text().strip()
        finally:
            server.terminate()
            server.wait()


def call(url, method, path, body=None, session=None, raw=False):
    """The answer's JSON, or its octets; an answer that is no success ends the script."""
    request = urllib.request.Request(url + path, method=method)
    if body is not None:
        request.data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
    if session:
        request.add_header("Authorization", session)
    try:
        with urllib.request.urlopen(request) as answer:
            octets = answer.read()
    except urllib.error.HTTPError as error:
        sys.exit(f"{method} {path}: {error.code} {error.read().decode()}")
    return octets if raw else json.loads(octets or b"null")
