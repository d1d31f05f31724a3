# Text in, text out: how the sites' own files are changed. Safe to apply twice.
# shellcheck shell=sh

# php-fpm's pool with so many workers, and shares of them in waiting.
fpm_workers() {
    awk -v most="$1" '
        function line(key, value) { print key " = " value; seen[key] = 1; next_line = 1 }
        {
            next_line = 0
            if ($0 ~ /^;?pm\.max_children *=/) line("pm.max_children", most)
            else if ($0 ~ /^;?pm\.start_servers *=/) line("pm.start_servers", int(most / 4))
            else if ($0 ~ /^;?pm\.min_spare_servers *=/) line("pm.min_spare_servers", int(most / 8))
            else if ($0 ~ /^;?pm\.max_spare_servers *=/) line("pm.max_spare_servers", int(most / 2))
            else if ($0 ~ /^;?pm\.max_requests *=/) line("pm.max_requests", 500)
            if (!next_line) print
        }'
}

# Postmill's limits of posts per time, lifted: an agent is faster than a person.
lift_rate_limits() {
    sed -E 's/(@RateLimit\(period="[^"]*", max=)"?[0-9]+"?/\11000000/'
}

# Postmill's client for addresses in posts, without the wall before local ones: in the
# benchmark all addresses are local, and a link to its own site would answer 500.
allow_local_addresses() {
    awk '
        inside && match($0, /^ */) && (RLENGTH > depth || $0 ~ /^ *$/) { next }
        { inside = 0 }
        /^ *postmill\.http_client\.external_client: *$/ {
            match($0, /^ */); depth = RLENGTH; inside = 1
            print
            print substr($0, 1, depth) "    alias: postmill.http_client.default"
            next
        }
        { print }'
}

# GitLab's configuration with its address and workers: $1 address, $2 workers.
gitlab_settings() {
    awk -v url="$1" -v workers="$2" '
        /^external_url / || /^puma\[.worker_processes.\]/ { next }
        { print }
        END {
            printf "external_url \047%s\047\n", url
            printf "puma[\047worker_processes\047] = %d\n", workers
        }'
}

# What OPcache may take: enough for all files of a Magento.
opcache_settings() {
    cat <<'INI'
opcache.enable=1
opcache.memory_consumption=512
opcache.interned_strings_buffer=64
opcache.max_accelerated_files=60000
opcache.validate_timestamps=0
realpath_cache_size=10M
realpath_cache_ttl=7200
INI
}
