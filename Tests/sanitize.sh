#!/usr/bin/env bash
# Runs the tests under a sanitizer, in a build folder of its own.
# usage: sanitize.sh thread|address [swift test's flags]
set -euo pipefail
cd "$(dirname "$0")/.."
kind=$1
shift
swift test --sanitize="$kind" --scratch-path ".build/sanitize-$kind" "$@"
