#!/usr/bin/env bash
# Throughput of a stateful POST /v1/subscriber, journal on, as a ratio to nginx's `return 200` in the same run.
# Needs nginx and wrk (apt-get install nginx-light wrk); builds both configurations.
set -euo pipefail
cd "$(dirname "$0")/../.."
for tool in nginx wrk; do
  command -v "$tool" >/dev/null || { echo "run.sh: $tool is missing: apt-get install nginx-light wrk" >&2; exit 1; }
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
nginx -c "$work/nginx.conf"
rate() { wrk -t2 -c64 -d3 -s "$work/post.lua" "$1/v1/subscriber" | awk '/Requests\/sec/ { print $2 }'; }
median() { sort -n | sed -n 2p; }

echo "$(uname -m), $(nproc) cores, $(swift --version 2>&1 | head -n 1)"
for configuration in release debug; do
  swift build -q -c "$configuration" --product pushsim
  binary=$(swift build -c "$configuration" --product pushsim --show-bin-path)/pushsim
  rm -f "$work/ready"
  "$binary" serve --port 0 --quiet --option ntm.connection=keep-alive --ready-file "$work/ready" >/dev/null &
  server=$!
  while [ ! -e "$work/ready" ]; do kill -0 "$server"; sleep 0.05; done
  url=$(cat "$work/ready")
  for _ in 1 2 3; do
    rate http://127.0.0.1:8199 >>"$work/nginx.$configuration"
    rate "$url" >>"$work/own.$configuration"
  done
  own=$(median <"$work/own.$configuration")
  nginx=$(median <"$work/nginx.$configuration")
  memory=$(awk '/VmRSS/ { print int($2 / 1024) }' "/proc/$server/status")
  awk -v c="$configuration" -v o="$own" -v n="$nginx" -v m="$memory" \
    'BEGIN { printf "%s: %d requests/s, nginx %d, ratio %.2f, RSS after %d MB\n", c, o, n, o / n, m }'
  kill -TERM "$server"
  wait "$server" || true
  server=
done
