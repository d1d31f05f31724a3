#!/usr/bin/env bash
# What the tests need beside Python: PostgreSQL, Redis and Chromium.
# Installs by apt when root, else says exactly what is missing.
set -uo pipefail
cd "$(dirname "$0")/.."

scripts/find_browser.sh || exit 1

# Tests of pages take it where they find it: it has no windows, and costs half as much.
shell=chromium-headless-shell
if [ "$(id -u)" = 0 ] && ! command -v "$shell" >/dev/null && apt-cache show "$shell" >/dev/null 2>&1; then
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-remove "$shell" >/dev/null 2>&1 || true
fi

missing=()
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || missing+=(postgresql)
command -v redis-server >/dev/null || missing+=(redis-server)
[ ${#missing[@]} = 0 ] && exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "Installing ${missing[*]} …"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq && apt-get install -y -qq "${missing[@]}" >/dev/null && exit 0
fi
echo "The tests need: ${missing[*]}. On Debian or Ubuntu:" >&2
echo "    sudo apt-get install ${missing[*]}" >&2
echo "On macOS: brew install postgresql redis" >&2
exit 1
