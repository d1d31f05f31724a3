#!/bin/sh
# What Crosscheck is to be told, from the same .env: settings.sh >> docker/.env
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
if [ -f "${ENV_FILE:-$here/.env}" ]; then
    set -a
    # shellcheck source=/dev/null
    . "${ENV_FILE:-$here/.env}"
    set +a
fi
at="http://${PUBLIC_HOST:-localhost}"
map="http://${MAP_BACKEND_HOST:-localhost}"
wiki=${WIKIPEDIA_FILE:-wikipedia_en_all_maxi_2022-05.zim}
echo "SITE_HOSTS=shopping=$at:${SHOPPING_PORT:-7770},shopping_admin=$at:${SHOPPING_ADMIN_PORT:-7780}/admin,reddit=$at:${FORUM_PORT:-9999},gitlab=$at:${GITLAB_PORT:-8023},wikipedia=$at:${WIKIPEDIA_PORT:-8888}/${wiki%.zim}/A/User:The_other_Kiwix_guy/Landing,map=$at:${MAP_PORT:-3000},homepage=$at:${HOMEPAGE_PORT:-4399}"
echo "MAP_BACKENDS=tiles=$map:${TILE_PORT:-8080},search=$map:${NOMINATIM_PORT:-8085},car=$map:${OSRM_CAR_PORT:-5000},bike=$map:${OSRM_BIKE_PORT:-5001},foot=$map:${OSRM_FOOT_PORT:-5002}"
