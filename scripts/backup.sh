#!/usr/bin/env bash
# Adds a backup of everything to a folder; for a timer, every five minutes or every night:
#     scripts/backup.sh FOLDER [--keep N]
# It finds the database and the files as the site itself does, by DATABASE_URL and the other
# settings. In the image: docker compose run --rm backup
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 2; }
folder=$(mkdir -p "$1" && cd "$1" && pwd); shift
cd "$(dirname "$0")/.."
python=python; [ -x .venv/bin/python ] && python=.venv/bin/python
exec "$python" manage.py back_up "$folder" "$@"
