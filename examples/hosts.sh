#!/bin/bash
# Several hosts without a scheduler: examples/hosts.sh run.zarr host-a host-b …
#
# Every host needs this folder at the same path, and a login without a password. The first one coordinates. A host
# called localhost is this machine, without ssh: examples/hosts.sh run.zarr localhost localhost
# ARGUMENTS are further ones of hosts.py: chains, draws and draws of warm-up.

set -euo pipefail
store=$1
shift
hosts=("$@")
coordinator=${hosts[0]/localhost/127.0.0.1}:${PORT:-$((20000 + RANDOM % 20000))}
pids=()

for place in "${!hosts[@]}"; do
  command="cd '$PWD' && COORDINATOR=$coordinator HOSTS=${#hosts[@]} HOST=$place ${PYTHON:-python} examples/hosts.py '$store' ${ARGUMENTS:-}"
  if [ "${hosts[$place]}" = localhost ]; then
    bash -c "$command" &
  else
    ssh -o BatchMode=yes "${hosts[$place]}" "$command" &
  fi
  pids+=($!)
done

failed=0
for pid in "${pids[@]}"; do
  wait "$pid" || failed=1
done
exit $failed
