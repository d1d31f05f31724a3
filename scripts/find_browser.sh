#!/usr/bin/env bash
# Makes sure that a Chromium is there for reruns and that Playwright can drive it; installs what
# is missing where it can, else says what to do.
set -uo pipefail
cd "$(dirname "$0")/.."

FOUND=.venv/.browser  # its path, when it was found last: looking takes Playwright a second

found() {
    why=$(.venv/bin/python -m webagent.environment 2>&1) && printf '%s\n' "$why" >"$FOUND"
}

[ -x "$(cat "$FOUND" 2>/dev/null)" ] && exit 0
found && exit 0
echo "Reruns need a browser. Installing Chromium …"
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    # Playwright's driver needs libatomic1, which a minimal system lacks.
    apt-get update -qq && apt-get install -y -qq chromium libatomic1 >/dev/null 2>&1 && found && exit 0
fi
.venv/bin/python -m playwright install chromium >/dev/null 2>&1 && found && exit 0
echo "No browser for reruns; everything else works. $why" >&2
echo "On Debian or Ubuntu: sudo apt-get install chromium libatomic1" >&2
exit 1
