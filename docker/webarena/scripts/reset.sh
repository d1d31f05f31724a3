#!/bin/sh
# Sites as they were at the beginning: reset.sh [SITE...] (default: all that agents change)
# Exit code 75 if a reset is under way already.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
if [ -f "$here/.env" ]; then
    set -a
    # shellcheck source=/dev/null
    . "$here/.env"
    set +a
fi
compose() { ${DOCKER:-docker} compose -f "$here/compose.yaml" "$@"; }

exec 9>"${RESET_LOCK:-/tmp/webarena-reset.lock}"
flock -n 9 || { echo "a reset is under way" >&2; exit 75; }

[ $# -gt 0 ] || set -- shopping shopping-admin forum gitlab
host=${PUBLIC_HOST:-localhost}
urls=
for site in "$@"; do
    case $site in
        shopping) urls="$urls http://$host:${SHOPPING_PORT:-7770}/" ;;
        shopping-admin) urls="$urls http://$host:${SHOPPING_ADMIN_PORT:-7780}/admin" ;;
        forum) urls="$urls http://$host:${FORUM_PORT:-9999}/" ;;
        gitlab) urls="$urls http://$host:${GITLAB_PORT:-8023}/users/sign_in" ;;
        *) echo "$site is no site that can be reset" >&2; exit 2 ;;
    esac
done
for site in "$@"; do
    # Its data live in the container: a new one is as on the first day.
    compose rm --stop --force "$site" "$site-patch"
done
for site in "$@"; do
    compose up --no-deps --detach --wait "$site"
    compose up --exit-code-from "$site-patch" --no-recreate "$site-patch"
done
# shellcheck disable=SC2086 (one word for each address)
sh "$here/scripts/wait-for-ready.sh" "${RESET_WAIT_S:-600}" $urls
