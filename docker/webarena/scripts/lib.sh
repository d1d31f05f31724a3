# What the patches share.
# shellcheck shell=sh
set -eu
here=$(dirname "$0")
# shellcheck source=scripts/filters.sh
. "$here/filters.sh"

say() {
    echo "$(date -u +%H:%M:%S) $*"
}

# Put a file inside a container through a filter: change CONTAINER PATH FILTER [ARGUMENT...]
change() {
    container=$1 path=$2
    shift 2
    # All of it first: reading and writing at once would cut the file.
    old=$(docker exec "$container" cat "$path")
    printf '%s\n' "$old" | "$@" | docker exec -i "$container" sh -c "cat > '$path.new'"
    docker exec "$container" sh -c "cat '$path.new' > '$path' && rm '$path.new'"
    say "$container: $path"
}

# More workers and OPcache for the PHP of a container, and a start anew of its workers.
tune_php() {
    container=$1 workers=$2
    for pool in $(docker exec "$container" sh -c 'ls /usr/local/etc/php-fpm.d/www.conf /etc/php*/php-fpm.d/www.conf /etc/php/*/fpm/pool.d/www.conf 2>/dev/null || true'); do
        change "$container" "$pool" fpm_workers "$workers"
    done
    opcache_settings | docker exec -i "$container" sh -c \
        'folder=$(php -r "echo PHP_CONFIG_FILE_SCAN_DIR;"); mkdir -p "$folder" && cat > "$folder/zz-webarena.ini"'
    # The oldest process is the master: it ends its workers once they are done.
    docker exec "$container" pkill -USR2 -o php-fpm
    say "$container: PHP has $workers workers"
}
