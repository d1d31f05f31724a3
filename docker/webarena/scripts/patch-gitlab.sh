#!/bin/sh
# GitLab's address and number of workers: patch-gitlab.sh CONTAINER
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
site=$1
address="http://$PUBLIC_HOST:$SITE_PORT"

# Without a number GitLab takes one worker for each core, and answers 500 where there are many.
change "$site" /etc/gitlab/gitlab.rb gitlab_settings "$address" "$PUMA_WORKERS"
docker exec "$site" gitlab-ctl reconfigure
say "$site is at $address"
