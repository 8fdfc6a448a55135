#!/usr/bin/env bash
# Runs the tests under a sanitizer, in a build folder of its own.
# usage: sanitize.sh thread|address [swift test's flags]
set -euo pipefail
cd "$(dirname "$0")/.."
kind=$1
shift
# What the test runner and the process's own constants keep until the end counts as a leak; the tests count
# connections themselves.
export ASAN_OPTIONS=detect_leaks=0
swift test --sanitize="$kind" --scratch-path ".build/sanitize-$kind" "$@"
