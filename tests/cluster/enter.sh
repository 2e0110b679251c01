#!/usr/bin/env bash
# enter.sh [-OPTION...] HOST COMMAND...: what mpiexec calls in place of ssh.
while [[ $1 == -* ]]; do shift; done
pid=$(cat "/mnt/$1") || exit 255
shift
exec nsenter --target "$pid" --net --uts --ipc --mount -- \
  bash -c 'cd "$1" && eval "$2"' enter.sh "$PWD" "$*"
