"""The command line of the built binary: its help screens as text, and a log that nobody reads any more.
usage: command.py PATH-TO-PUSHSIM [--update]"""
import os
import pathlib
import signal
import subprocess
import sys
import urllib.error
import urllib.request

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


text = screens()
if "--update" in sys.argv:
    SCREENS.write_text(text)
check(SCREENS.read_text() == text, "the help screens are not those of help.txt: look at them, then run with --update")
log_reader_leaves()
print(f"command: {text.count('$ pushsim')} help screens as written, the log's reader may leave")
