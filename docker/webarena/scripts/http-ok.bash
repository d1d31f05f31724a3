#!/usr/bin/env bash
# Whether this container answers 200 at a path: http-ok.bash PORT PATH
# By bash alone: the images have neither curl nor wget in common.
set -eu
exec 3<>"/dev/tcp/127.0.0.1/$1"
printf 'GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n' "$2" >&3
read -r -t 8 _ status _ <&3
[ "$status" = 200 ]
