#!/usr/bin/env bash
# Makes the virtual environment and installs pinned requirements files into it.
# --no-deps: the files list every package; BrowserGym's metadata would ask for an old Playwright.
# --require-hashes: nothing is installed that is not byte for byte what was locked.
set -euo pipefail
cd "$(dirname "$0")/.."

# The system's first: distributions compile theirs by profiles, which version managers do not.
pythons() {
    for name in /usr/bin/python3 python3.13 python3.12 python3.11 python3; do
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$name"
        fi
    done
}

make_venv() {
    local found python
    found=$(pythons)
    if [ -z "$found" ]; then
        echo "Crosscheck needs Python 3.11 or newer; install it and try again." >&2
        exit 1
    fi
    for python in $found; do
        "$python" -m venv .venv >/dev/null 2>&1 && return
        rm -rf .venv
    done
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get update -qq && apt-get install -y -qq python3-venv >/dev/null 2>&1
        "${found%%$'\n'*}" -m venv .venv
    else
        echo "Python cannot make virtual environments here. On Debian or Ubuntu:" >&2
        echo "    sudo apt-get install python3-venv" >&2
        exit 1
    fi
}

[ -x .venv/bin/python ] || { echo "Making the virtual environment …"; make_venv; }
echo "Installing $* …"
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --require-hashes "${@/#/--requirement=}"
# Compiled here on every processor, where pip would use one; the packages' own tests are left out.
.venv/bin/python -m compileall -q -j 0 -x '[/]tests[/]' .venv/lib
