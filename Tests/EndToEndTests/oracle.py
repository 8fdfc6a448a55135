#!/usr/bin/env python3
"""Has every good record that the binary sends opened by the independent oracle of ../shared/data.

usage: oracle.py PATH-TO-PUSHSIM        (Python with the package cryptography)
"""
import base64
import contextlib
import io
import json
import subprocess
import sys
import tempfile

from binary import SHARED, call, serving

if not (SHARED / "oracle_decrypt.py").exists():
    print("oracle: skipped, ../shared/data is not there")
    sys.exit(0)
sys.path.insert(0, str(SHARED))
sys.dont_write_bytecode = True
import oracle_decrypt  # noqa: E402
from cryptography.hazmat.primitives.asymmetric import ec  # noqa: E402
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat  # noqa: E402

PLATFORMS = {
    "ios_apns": "https://push.fluxer.com/relay/v1/apns/app/production/ab",
    "ios_apns_voip": "https://push.fluxer.com/relay/v1/apns-voip/app/production/ab",
    "android_fcm": "https://push.fluxer.com/relay/v1/fcm/app/token",
    "android_unified_push": "https://push.pushsim.example/push/one",
}
TEXTS = ["", "there", "é" * 700, "😀" * 600, "日本語" * 500, "a\u202eb\u0000c\"\\", "x" * 5000]


def text64(octets):
    return base64.urlsafe_b64encode(octets).decode().rstrip("=")


class Device:
    """Keys that the server never sees the private half of."""

    def __init__(self, number):
        scalar = number + 1
        self.private = text64(scalar.to_bytes(32, "big"))
        public = ec.derive_private_key(scalar, ec.SECP256R1()).public_key()
        self.public = text64(public.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint))
        self.auth = text64(bytes([number + 1]) * 16)


def run_oracle(device, record, *flags):
    """The oracle's exit code and plaintext."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(record)
        file.flush()
        output = io.TextIOWrapper(io.BytesIO())
        words, sys.argv = sys.argv, ["oracle", device.private, device.auth, file.name, *flags]
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(io.StringIO()) as why:
            code = oracle_decrypt.main()
        sys.argv = words
        return code, output.buffer.getvalue(), why.getvalue()


STAGES = {"none": 0, "framing": 3, "point": 4, "tag": 5, "padding": 6, "content": 7}


def faults(url):
    """Every record fault by its id, with 20 seeds: it must fail, or open, at its catalogued stage."""
    failed = made = 0
    listed = json.loads(subprocess.run(
        [sys.argv[1], "faults", "--json"], capture_output=True, check=True).stdout)["records"]
    for seed in range(20):
        device, before = Device(seed), Device(seed + 100)
        for fault in listed:
            record = call(url, "POST", "/__pushsim/records", {
                "encryption_key": device.public, "auth_secret": device.auth, "seed": seed, "fault": fault["id"],
                "private_key": device.private, "previous_encryption_key": before.public,
                "previous_auth_secret": before.auth,
                "json": {"web_push": 8030, "title": f"Hi {seed}", "body": "A" * seed, "data": {"channel_id": "42"}},
            }, raw=True)
            code, _, why = run_oracle(device, record, "--json")
            if code != STAGES[fault["fails_at"]]:
                failed += 1
                print(f"oracle: {fault['id']} seed {seed}: exit {code}, not {fault['fails_at']}: {why}",
                      file=sys.stderr)
            if fault["id"] == "K03" and run_oracle(before, record, "--json")[0] != 0:
                failed += 1
                print(f"oracle: K03 seed {seed} does not open with the previous keys", file=sys.stderr)
            made += 1
    print(f"oracle: {made - failed} of {made} records of {len(listed)} faults as catalogued")
    return failed + (len(listed) != 109)


def main():
    failed = opened = 0
    with serving(sys.argv[1], "--clock", "frozen", "--option", "fluxer.rateLimits=off") as url:
        devices = {}
        for number, (platform, token) in enumerate(PLATFORMS.items()):
            device = devices[token] = Device(number)
            call(url, "POST", "/v1/users/@me/mobile-devices", {
                "platform": platform, "token": token, "encryption_key": device.public,
                "auth_secret": device.auth}, session="alice")
        for size, padding in [("4096", "2816"), ("tight", "none"), ("4096", "4096")]:
            call(url, "PATCH", "/__pushsim/options", {"fluxer.recordSize": size, "fluxer.padding": padding})
            for text in TEXTS:
                call(url, "POST", "/__pushsim/fluxer/notifications", {
                    "channel_id": "42", "title": "Hi " + text[:50], "body": text,
                    "image_url": "https://a.example/" + "i" * len(text)})
                call(url, "POST", "/__pushsim/fluxer/rings", {
                    "channel_id": "42", "message_id": "7", "caller_id": "9", "caller_name": text or "A",
                    "caller_avatar_url": "https://a.example/" + "a" * len(text)})
            call(url, "POST", "/__pushsim/fluxer/clears", {"channel_id": "42", "badge_count": 2})
        for token, device in devices.items():
            inbox = call(url, "GET", "/__pushsim/inbox?token=" + token)
            for delivery in inbox["deliveries"]:
                record = base64.b64decode(delivery["body_base64"])
                code, plaintext, why = run_oracle(device, record, "--sender", "--json", "--max", "2713")
                if code != 0 or plaintext.decode() != delivery["plaintext"]:
                    failed += 1
                    print(f"oracle: {token} {delivery['id']}: exit {code} {why}", file=sys.stderr)
                opened += 1
        wrong = faults(url)
    print(f"oracle: {opened - failed} of {opened} records opened")
    sys.exit(1 if failed or wrong or opened < 100 else 0)


if __name__ == "__main__":
    main()
