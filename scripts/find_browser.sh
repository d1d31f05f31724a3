#!/usr/bin/env bash
# Makes sure a Chromium is there for reruns; installs one where it can, else says what to do.
set -uo pipefail
cd "$(dirname "$0")/.."

found() { .venv/bin/python -m webagent.environment >/dev/null 2>&1; }

found && exit 0
echo "No Chromium found; reruns need one. Installing it …"
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -qq && apt-get install -y -qq chromium >/dev/null 2>&1 && found && exit 0
fi
.venv/bin/python -m playwright install chromium >/dev/null 2>&1 && found && exit 0
echo "Could not install Chromium. Everything works but reruns. Either install your system's" >&2
echo "chromium package, or set CHROMIUM_EXECUTABLE to the path of a Chromium or Chrome." >&2
exit 1
