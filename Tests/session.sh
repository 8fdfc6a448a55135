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
"$binary" push ntm --url "$url" --topic example.com/video/alice@example.com | grep >/dev/null '^1 delivery$' || fail "push"
curl -sf "$url/__pushsim/inbox?token=abc&wait=2s" | grep >/dev/null '"to_routing_id":"alice@example.com"' || fail "inbox"

head -c 100000 /dev/zero >"$work/body"
profile "{ rules: [ { then: { connection: 'close' } } ] }"
expect_exit 52 "$url/v1/subscriber" -H "$bearer" -d a=b
expect_exit 52 "$url/v1/subscriber" -H "$bearer" --data-binary "@$work/body"
profile "{ rules: [ { then: { connection: 'stall' } } ] }"
expect_exit 28 -m 1 "$url/v1/subscriber" -H "$bearer" -d a=b
profile "{ rules: [ { then: { connection: 'reset' } } ] }"
expect_exit 56 "$url/v1/subscriber" -H "$bearer" -d a=b
# Every wire and connection fault, by the exit code of curl; those that curl takes for good answers end with 0.
while read -r code then; do
  profile "{ rules: [ { then: { $then } } ] }"
  expect_exit "$code" -m 2 "$url/v1/subscriber" -H "$bearer" -d a=b
done <<'FAULTS'
56 connection: 'resetAfterHead'
56 connection: 'resetMidBody'
52 connection: 'EMPTY_RESPONSE'
56 connection: 'CONNECTION_RESET_BY_PEER'
0 connection: 'closeMidHead'
18 connection: 'closeMidBody'
28 connection: 'stallMidBody'
0 connection: 'halfClose'
18 wire: { truncateBody: 3 }
18 wire: { contentLength: '+10' }
0 wire: { contentLength: '-10' }
0 wire: { contentLength: 'none' }
56 wire: { badChunkSize: true }
56 connection: 'MALFORMED_RESPONSE_CHUNK'
18 wire: { missingLastChunk: true }
0 wire: { bothLengths: true }
1 wire: { garbage: 64 }
1 connection: 'RANDOM_DATA_THEN_CLOSE'
1 wire: { statusLine: 'HTTP/9.9 banana' }
0 wire: { extraHeaders: 50 }
0 wire: { headerBytes: 50000 }
0 wire: { interim: [100, 103] }
0 wire: { dribble: { pieces: 3, over: '20ms' } }
0 wire: { bandwidth: '8kB/s' }
0 wire: { slowHead: '4kB/s' }
FAULTS
profile "{ rules: [ { then: { wire: { bothLengths: true } } } ] }"
curl -s -D - -o /dev/null "$url/v1/subscriber" -H "$bearer" -d a=b | grep -ci '^content-length\|^transfer-encoding' \
  | grep -x >/dev/null 2 || fail "bothLengths carries both headers"

profile "{ rules: [ { then: { status: 410 } } ] }"
[ "$(curl -s -o /dev/null -w '%{http_code}' "$url/v1/subscriber" -H "$bearer" -d a=b)" = 410 ] || fail "410"

code=0
"$binary" serve --prot 1 2>"$work/err" || code=$?
[ "$code" = 2 ] && grep -q 'Did you mean --port' "$work/err" || fail "an unknown flag"
code=0
"$binary" serve --port "${url##*:}" 2>"$work/err" || code=$?
[ "$code" = 1 ] && grep -q 'cannot listen' "$work/err" || fail "a taken port"

# A saved profile is loaded again; a broken save keeps the running one and says why.
echo "{ rules: [ { then: { status: 410 } } ] }" >"$work/p.json5"
"$binary" serve --port 0 --profile "$work/p.json5" --ready-file "$work/ready2" >/dev/null 2>"$work/log2" &
second=$!
for _ in $(seq 100); do [ -e "$work/ready2" ] && break; sleep 0.05; done
other=$(cat "$work/ready2")
status() { curl -s -o /dev/null -w '%{http_code}' "$other/v1/subscriber" -d a=b; }
[ "$(status)" = 410 ] || fail "the profile of the file"
echo "{ rules: [ { then: { status: 411 } } ] }" >"$work/p.json5"
for _ in $(seq 100); do [ "$(status)" = 411 ] && break; sleep 0.05; done
[ "$(status)" = 411 ] || fail "a saved profile was not loaded"
echo "{ rules: [ { then: { statos: 412 } } ] }" >"$work/p.json5"
for _ in $(seq 100); do grep -q 'Did you mean "status"' "$work/log2" && break; sleep 0.05; done
grep -q 'the running one stays: .*Did you mean "status"' "$work/log2" || fail "a broken save says nothing"
[ "$(status)" = 411 ] || fail "a broken save changed the profile"
curl -sf "$other/__pushsim/journal" >"$work/journal.json"
echo "{ rules: [ { then: { status: 411 } } ] }" >"$work/q.json5"
"$binary" profile explain "$work/q.json5" --journal "$work/journal.json" | grep >/dev/null 'each as the profile says' \
  || fail "explain --journal"
# `refuse` runs on the clock, which here is the real one.
curl -sf -X PUT "$other/__pushsim/profile" >/dev/null \
  --data "{ rules: [ { when: { times: 1 }, then: { connection: { refuse: '1s' } } } ] }"
expect_exit 56 "$other/v1/subscriber" -d a=b
expect_exit 7 "$other/v1/subscriber" -d a=b
expect_exit 0 --retry 50 --retry-connrefused --retry-delay 1 "$other/__pushsim/health"
kill -TERM "$second"
wait "$second"

kill -TERM "$server"
wait "$server" || fail "SIGTERM: exit $?"
[ ! -e "$work/ready" ] || fail "the ready file stays"
echo "session: good"
