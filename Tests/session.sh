#!/usr/bin/env bash
# A session with the built binary and curl: register, subscribe, push, read the inbox, meet faults, stop.
# usage: session.sh PATH-TO-PUSHSIM
set -euo pipefail
binary=$1
work=$(mktemp -d)
trap 'kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT

"$binary" serve --port 0 --clock frozen --ready-file "$work/ready" --quiet >"$work/out" &
server=$!
for _ in $(seq 100); do
  [ -e "$work/ready" ] && break
  kill -0 "$server"
  sleep 0.05
done
url=$(cat "$work/ready")
bearer="Authorization: Bearer alice"

fail() { echo "session: $*" >&2; exit 1; }
# expect_exit CODE WORDS…: what curl ends with.
expect_exit() {
  local wanted=$1 code=0
  shift
  curl -s -o /dev/null "$@" || code=$?
  [ "$code" = "$wanted" ] || fail "curl ended with $code, not $wanted: $*"
}
profile() { curl -sf -X PUT "$url/__pushsim/profile" --data "$1" >/dev/null; }

[ "$(head -n 1 "$work/out")" = "$("$binary" --version | sed "s|$| listening on $url|")" ] || fail "the first line"
id=$(curl -sf "$url/v1/subscriber" -H "$bearer" -d '{"proto":"apns","token":"abc","app_domain":"example.com"}' \
  | sed 's/^{"id":"\([0-9a-f]\{30\}\)"}$/\1/')
[ ${#id} = 30 ] || fail "the id is $id"
curl -sf -X POST "$url/v1/subscription/subscriber/$id/topic/example.com/video/alice%40example.com" -H "$bearer" >/dev/null
"$binary" push ntm --url "$url" --topic example.com/video/alice@example.com | grep -q '^1 deliveries$' || fail "push"
curl -sf "$url/__pushsim/inbox?token=abc&wait=2s" | grep -q '"to_routing_id":"alice@example.com"' || fail "inbox"

head -c 100000 /dev/zero >"$work/body"
profile "{ rules: [ { then: { connection: 'close' } } ] }"
expect_exit 52 "$url/v1/subscriber" -H "$bearer" -d a=b
expect_exit 52 "$url/v1/subscriber" -H "$bearer" --data-binary "@$work/body"
profile "{ rules: [ { then: { connection: 'stall' } } ] }"
expect_exit 28 -m 1 "$url/v1/subscriber" -H "$bearer" -d a=b
profile "{ rules: [ { then: { connection: 'reset' } } ] }"
expect_exit 56 "$url/v1/subscriber" -H "$bearer" -d a=b
profile "{ rules: [ { then: { status: 410 } } ] }"
[ "$(curl -s -o /dev/null -w '%{http_code}' "$url/v1/subscriber" -H "$bearer" -d a=b)" = 410 ] || fail "410"

code=0
"$binary" serve --prot 1 2>"$work/err" || code=$?
[ "$code" = 2 ] && grep -q 'Did you mean --port' "$work/err" || fail "an unknown flag"
code=0
"$binary" serve --port "${url##*:}" 2>"$work/err" || code=$?
[ "$code" = 1 ] && grep -q 'cannot listen' "$work/err" || fail "a taken port"

kill -TERM "$server"
wait "$server" || fail "SIGTERM: exit $?"
[ ! -e "$work/ready" ] || fail "the ready file stays"
echo "session: good"
