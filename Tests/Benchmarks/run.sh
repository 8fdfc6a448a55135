#!/usr/bin/env bash
# Prints every figure that the README quotes, beside what it is compared with in the same run.
# Needs nginx and wrk (apt-get install nginx-light wrk), python3, and OpenSSL's headers; builds both configurations.
set -euo pipefail
cd "$(dirname "$0")/../.."
for tool in nginx wrk python3; do
  command -v "$tool" >/dev/null || { echo "run.sh: $tool is missing: apt-get install nginx-light wrk python3" >&2; exit 1; }
done
work=$(mktemp -d)
server=
trap '[ -n "$server" ] && kill "$server" 2>/dev/null; nginx -c "$work/nginx.conf" -s stop 2>/dev/null; rm -rf "$work"' EXIT
cat >"$work/nginx.conf" <<CONF
worker_processes 1; pid $work/nginx.pid; error_log $work/error.log;
events { worker_connections 1024; }
http { access_log off; keepalive_requests 1000000000;
  server { listen 127.0.0.1:8199; location / { return 200 '{"id":"0173c92e6101062ac2a69d446a1ae6"}'; } } }
CONF
cat >"$work/post.lua" <<'LUA'
wrk.method = "POST"
wrk.headers["Authorization"] = "Bearer alice"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["User-Agent"] = "apple/phone/iPhone/18/App/1"
wrk.body = '{"proto":"apns","token":"abc","app_domain":"example.com"}'
LUA
sed 's/^wrk.body/wrk.headers["Connection"] = "close"\nwrk.body/' "$work/post.lua" >"$work/close.lua"
# A head that came before is not read again; this one differs each time.
cat "$work/post.lua" - >"$work/heads.lua" <<'LUA'
local number = 0
request = function()
  number = number + 1
  wrk.headers["X-Number"] = number
  return wrk.format()
end
LUA
nginx -c "$work/nginx.conf"
nginx_pid=$(cat "$work/nginx.pid")
nginx_url=http://127.0.0.1:8199

start() { # start CONFIGURATION [PREFIX…]: builds, starts, sets $server and $url
  local configuration=$1
  shift
  swift build -q -c "$configuration" --product pushsim
  local binary
  binary=$(swift build -c "$configuration" --product pushsim --show-bin-path)/pushsim
  rm -f "$work/ready"
  "$@" "$binary" serve --port 0 --quiet --option ntm.connection=keep-alive --ready-file "$work/ready" >/dev/null &
  server=$!
  while [ ! -e "$work/ready" ]; do kill -0 "$server"; sleep 0.05; done
  url=$(cat "$work/ready")
}
finish() {
  kill -TERM "$server"
  wait "$server" || true
  server=
}
load() {
  wrk "$@" >"$work/wrk"
  grep 'Non-2xx' "$work/wrk" >&2 && { echo "run: answers are not what is measured" >&2; return 1; }
  cat "$work/wrk"
}
rate() { load -t2 -c64 -d3 -s "$1" "$2/v1/subscriber" | awk '/Requests\/sec/ { print $2 }'; }
median() { sort -n | sed -n 2p; }
ticks() { awk '{ print $14 + $15 }' "/proc/$server/stat"; }
memory() { awk '/VmRSS/ { printf "%.0f", $2 / 1024 }' "/proc/$server/status"; }
# percentile LINE-OF-WRK in microseconds
percentile() { awk -v p="$1" '$1 == p { v = $2; u = 1; if (v ~ /ms$/) u = 1000; else if (v ~ /[0-9]s$/) u = 1000000; sub(/[a-z]+$/, "", v); print v * u }'; }
compare() { # compare NAME SCRIPT: medians of 3, ours and nginx's in turn
  rm -f "$work/own" "$work/nginx"
  for _ in 1 2 3; do
    rate "$2" "$nginx_url" >>"$work/nginx"
    rate "$2" "$url" >>"$work/own"
    grep -i 'socket errors' "$work/wrk" || true
  done
  awk -v n="$1" -v o="$(median <"$work/own")" -v x="$(median <"$work/nginx")" \
    'BEGIN { printf "%s: %d requests/s, nginx %d, ratio %.2f\n", n, o, x, o / x }'
  if [ "$2" = "$work/post.lua" ]; then cat "$work/nginx" >>"$work/nginx-all"; fi
}

echo "$(uname -m), $(nproc) cores, $(swift --version 2>&1 | head -n 1)"
start release
echo "release, idle: RSS $(memory) MB"
compare "release, 64 connections" "$work/post.lua"
before=$(ticks)
requests=$(load -t2 -c64 -d3 -s "$work/post.lua" "$url/v1/subscriber" | awk '/requests in/ { print $1 }')
awk -v t="$(($(ticks) - before))" -v r="$requests" -v h="$(getconf CLK_TCK)" \
  'BEGIN { printf "release, CPU: %.1f us a request\n", t / h / r * 1000000 }'
own=$(load -t1 -c1 -d3 --latency -s "$work/post.lua" "$url/v1/subscriber" | percentile '50%')
nginx=$(load -t1 -c1 -d3 --latency -s "$work/post.lua" "$nginx_url/v1/subscriber" | percentile '50%')
awk -v o="$own" -v n="$nginx" 'BEGIN { printf "release, one connection: p50 %d us, nginx %d us, ratio %.2f\n", o, n, o / n }'
compare "release, each head another" "$work/heads.lua"
compare "release, Connection: close" "$work/close.lua"
total=0
while [ "$total" -lt 1000000 ]; do
  count=$(load -t2 -c64 -d5 -s "$work/post.lua" "$url/v1/subscriber" | awk '/requests in/ { print $1 }')
  total=$((total + count))
done
echo "release, after $total more requests: RSS $(memory) MB"
finish
start release taskset -c 0
echo "release, server on core 0, wrk on core 1: p99 $(taskset -c 1 wrk -t1 -c64 -d3 --latency -s "$work/post.lua" "$url/v1/subscriber" | percentile '99%') us"
finish
python3 - "$(swift build -c release --product pushsim --show-bin-path)/pushsim" <<'PY'
import socket, statistics, subprocess, sys, time
def first(port):
    begun = time.monotonic()
    server = subprocess.Popen([sys.argv[1], "serve", "--port", str(port), "--quiet"], stdout=subprocess.DEVNULL)
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port)) as link:
                link.sendall(b"GET /__pushsim/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                if link.recv(100): break
        except ConnectionRefusedError:
            pass
    took = time.monotonic() - begun
    server.terminate()
    server.wait()
    return took * 1000
def spawn():
    begun = time.monotonic()
    subprocess.run(["/bin/true"])
    return (time.monotonic() - begun) * 1000
print(f"release, first answer after exec: {statistics.median(first(18300 + n) for n in range(21)):.1f} ms"
      f" (to start /bin/true and wait for it: {statistics.median(spawn() for _ in range(21)):.1f} ms)")
PY
binary=$(swift build -c release --product pushsim --show-bin-path)/pushsim
python3 Tests/Benchmarks/accuracy.py "$binary"
# Two hundred rules, twelve in twenty of which are looked at for this call.
python3 - >"$work/rules.json5" <<'PY'
kinds = ["on: { route: 'subscribe' }", "on: { path: '/v1/none/**' }", "on: { account: 'bob*' }",
         "on: { header: { 'X-None': 'a' } }", "on: { backend: 'fluxer' }", "when: { calls: '999999999-' }",
         "on: { token: 'zzz' }", "on: { path: '/none' }", "on: { method: 'DELETE' }", "when: { clock: { after: '40d' } }"]
print("{ rules: [" + ",".join(f"{{ id: 'r{n}', {kinds[n % 10]}, then: {{ status: 500 }} }}" for n in range(200)) + "] }")
PY
"$binary" serve --port 8201 --quiet --option ntm.connection=keep-alive --profile "$work/rules.json5" >/dev/null &
ruled=$!
start release
rm -f "$work/own" "$work/nginx"
for _ in 1 2 3; do
  rate "$work/post.lua" "$url" >>"$work/nginx"
  rate "$work/post.lua" http://127.0.0.1:8201 >>"$work/own"
done
awk -v o="$(median <"$work/own")" -v x="$(median <"$work/nginx")" \
  'BEGIN { printf "release, 200 rules: %d requests/s, without %d, ratio %.2f\n", o, x, o / x }'
kill "$ruled"
# The same registration, recorded, and then played.
"$binary" record --upstream "$url" --port 8202 --out "$work/register.har" --ready-file "$work/recording" >/dev/null &
recorder=$!
while [ ! -e "$work/recording" ]; do kill -0 "$recorder"; sleep 0.05; done
curl -s http://127.0.0.1:8202/v1/subscriber -H 'Authorization: Bearer alice' -H 'Content-Type: application/json' \
  -d '{"proto":"apns","token":"abc","app_domain":"example.com"}' >/dev/null
kill -INT "$recorder"
wait "$recorder"
"$binary" replay "$work/register.har" --port 8202 --quiet --repeat-last --ready-file "$work/playing" >/dev/null 2>&1 &
replayer=$!
while [ ! -e "$work/playing" ]; do kill -0 "$replayer"; sleep 0.05; done
rm -f "$work/own" "$work/nginx"
for _ in 1 2 3; do
  rate "$work/post.lua" "$url" >>"$work/nginx"
  rate "$work/post.lua" http://127.0.0.1:8202 >>"$work/own"
done
awk -v o="$(median <"$work/own")" -v x="$(median <"$work/nginx")" \
  'BEGIN { printf "release, replay: %d requests/s, serve %d, ratio %.2f\n", o, x, o / x }'
kill "$replayer"
finish
python3 Tests/Benchmarks/cassettes.py "$binary"
start debug
compare "debug, 64 connections" "$work/post.lua"
compare "debug, each head another" "$work/heads.lua"
finish
sort -n "$work/nginx-all" | awk 'NR == 1 { least = $1 } { most = $1 } END {
  printf "nginx itself, 64 connections, in this run: from %d to %d requests/s\n", least, most }'
swift build -q -c release --product PushSimBenchmarks
"$(swift build -c release --product PushSimBenchmarks --show-bin-path)/PushSimBenchmarks"
