"""Does what the README shows, in a shell, and compares what comes, line by line.
usage: readme.py PATH-TO-PUSHSIM"""
import os
import pathlib
import queue
import re
import socket
import subprocess
import sys
import tempfile
import threading

from client import Server

BINARY = str(pathlib.Path(sys.argv[1]).resolve())
README = pathlib.Path(__file__).resolve().parents[2] / "README.md"
END = "-- end of the command --"


def check(condition, *words):
    if not condition:
        raise SystemExit("readme: " + " ".join(str(word) for word in words))


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README.read_text(), re.M | re.S)


def steps(block):
    """Each command with the lines that it prints; a command goes on for as long as it is not whole."""
    lines = block.splitlines()
    found = []
    while lines:
        line = lines.pop(0)
        check(line.startswith("$ "), "no command:", line)
        command = line[2:]
        while subprocess.run(["bash", "-n"], input=command, text=True, capture_output=True).stderr:
            command += "\n" + lines.pop(0)
        printed = []
        while lines and not lines[0].startswith("$ "):
            printed.append(lines.pop(0))
        found.append((command, printed))
    return found


def free_ports(count):
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [str(listener.getsockname()[1]) for listener in listeners]
    for listener in listeners:
        listener.close()
    return ports


class Shell:
    """What is typed goes in, what is printed comes out, whoever prints it."""

    def __init__(self, folder, port):
        path = str(pathlib.Path(sys.executable).parent) + ":" + os.environ["PATH"]
        self.process = subprocess.Popen(
            ["bash", "--norc"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, env={**os.environ, "PATH": path, "BINARY": BINARY}, start_new_session=True)
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()
        # `push` looks for its server at the usual port.
        self.type(f'set -m; swift() {{ shift 2; [ "$1" != push ] || set -- "$@" --url http://127.0.0.1:{port}; "$BINARY" "$@"; }}')

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))

    def type(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def line(self, command):
        try:
            return self.lines.get(timeout=20)
        except queue.Empty:
            raise SystemExit(f"readme: nothing more came of {command}") from None

    def run(self, command, printed):
        self.type(command)
        # What runs on behind the prompt prints in its own time.
        is_behind = command.endswith("&") or command.startswith("kill")
        got = [self.line(command) for _ in printed] if is_behind else []
        # Answers need not end their line.
        self.type(f"echo; echo '{END}'")
        while (line := self.line(command)) != END:
            got.append(line)
        if got and not got[-1]:
            got.pop()
        check(got == printed, command, "\nis shown to print\n" + "\n".join(printed), "\nand prints\n" + "\n".join(got))

    def close(self):
        # A job is a group: a shell and the binary in it.
        self.type("for job in $(jobs -p); do kill -- -$job; done 2>/dev/null; exit")
        self.process.wait(20)


def session(block):
    """On a server that has just been started, as the README says."""
    ports = dict(zip(["8025", "8026", "8027"], free_ports(3)))
    block = re.sub(r"\b802[567]\b", lambda found: ports[found[0]], block)
    with tempfile.TemporaryDirectory() as work:
        pathlib.Path(work, "open.py").write_text(blocks("python")[0])
        server = Server(BINARY, "serve", "--quiet", port=ports["8025"])
        shell = Shell(work, ports["8025"])
        try:
            for command, printed in steps(block):
                shell.run(command, printed)
        finally:
            shell.close()
            server.stop()
    return len(steps(block))


commands = sum(session(block) for block in blocks("console"))
profiles = blocks("json5")
with tempfile.TemporaryDirectory() as work:
    for number, profile in enumerate(profiles):
        path = f"{work}/{number}.json5"
        pathlib.Path(path).write_text(profile)
        run = subprocess.run([BINARY, "profile", "check", path], capture_output=True, text=True, timeout=20)
        check(run.returncode == 0, "profile", number + 1, "is not good:", run.stderr)
check(commands > 0 and profiles, "nothing is shown")
print(f"readme: {commands} commands print what is shown, {len(profiles)} profile good")
