#!/bin/sh
# Wait until each address answers below 400: wait-for-ready.sh SECONDS URL...
# Exit code 1 names the first that does not in time.
set -eu
deadline=$(($(date +%s) + $1))
shift
for url in "$@"; do
    while :; do
        status=$(curl -s -o /dev/null -m 10 -w '%{http_code}' "$url" || true)
        case $status in [23]??) break ;; esac
        if [ "$(date +%s)" -ge "$deadline" ]; then
            echo "not ready: $url (${status:-no answer})" >&2
            exit 1
        fi
        sleep "${WAIT_PAUSE_S:-5}"
    done
    echo "ready: $url"
done
