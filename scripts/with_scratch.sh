#!/usr/bin/env bash
# Run a command with a temporary folder of its own, in memory where there is room: every blob and
# every commit waits for the disk, and tests make many thousands. The folder goes with the command.
#
#     scripts/with_scratch.sh COMMAND [ARGUMENT...]
set -uo pipefail

needed_kb=4000000
free_kb=$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { print $4 }')
parent=${TMPDIR:-/tmp}
if [ "${free_kb:-0}" -gt "$needed_kb" ] && [ -w /dev/shm ]; then parent=/dev/shm; fi

# A short name: sockets are made in it, and their paths may have 107 characters.
TMPDIR=$(mktemp -d "$parent/cc.XXXXXX") || exit 1
export TMPDIR
chmod 755 "$TMPDIR"  # PostgreSQL runs as another user
trap 'rm -rf "$TMPDIR"' EXIT

# The tests start many Python processes: without compiled code each of them compiles a thousand
# files anew. What was installed has it beside its source, and is looked for nowhere else.
unset PYTHONDONTWRITEBYTECODE
"$@"
