#!/bin/sh
# The forum without limits that stop an agent: patch-forum.sh CONTAINER
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
site=$1
root=/var/www/html

for file in $(docker exec "$site" sh -c "grep -l '@RateLimit(' $root/src/DataObject/*.php || true"); do
    change "$site" "$file" lift_rate_limits
done
change "$site" "$root/config/packages/http_client.yaml" allow_local_addresses
docker exec "$site" sh -c "rm -rf $root/var/cache/* && chown -R www-data:www-data $root/var"
tune_php "$site" "$PHP_WORKERS"
