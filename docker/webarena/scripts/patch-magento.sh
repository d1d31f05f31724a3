#!/bin/sh
# Address, log-in and speed of a Magento: patch-magento.sh CONTAINER
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
site=$1
address="http://$PUBLIC_HOST:$SITE_PORT"
magento=/var/www/magento2/bin/magento

docker exec "$site" "$magento" setup:store-config:set --base-url="$address"
docker exec "$site" mysql -u magentouser -pMyPassword magentodb -e \
    "UPDATE core_config_data SET value = '$address/' WHERE path = 'web/secure/base_url'"
if [ "$site" = shopping_admin ]; then
    # Else the first log-in after some months asks for another password.
    docker exec "$site" php "$magento" config:set admin/security/password_is_forced 0
    docker exec "$site" php "$magento" config:set admin/security/password_lifetime 0
fi
docker exec "$site" "$magento" cache:flush
tune_php "$site" "$PHP_WORKERS"
say "$site is at $address"
