#!/usr/bin/env bash
# Puts a backup back and then looks at every row and every file:
#     scripts/restore.sh FOLDER [--snapshot NAME] [--overwrite]
# Stop the web server and the workers before. Ends with 0 only if everything holds.
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,4s/^# \{0,1\}//p' "$0"; exit 2; }
folder=$(cd "$1" && pwd); shift
cd "$(dirname "$0")/.."
python=python; [ -x .venv/bin/python ] && python=.venv/bin/python
"$python" manage.py restore_backup "$folder" "$@"
exec "$python" manage.py check_integrity --hashes
