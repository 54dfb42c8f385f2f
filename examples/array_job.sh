#!/bin/bash
# Independent jobs, which never talk to each other, and a merge.
#
#     examples/array_job.sh warm                      # once: warm-up, whose tuning all jobs share
#     sbatch --array=0-9 examples/array_job.sh draw   # ten jobs; or a loop over TASK=0 … 9 on any other scheduler
#     examples/array_job.sh merge                     # after all of them
#
# A job that was killed is started again with the same number, and goes on from its store.

set -euo pipefail
cd "${SLURM_SUBMIT_DIR:-.}"
export PYTHONPATH=examples
mongepatch=${MONGEPATCH:-mongepatch}
model=examples/cli_model.py:target
folder=${FOLDER:-jobs}
chains=${CHAINS:-8}
draws=${DRAWS:-1000}
mkdir -p "$folder"

case $1 in
  warm)
    "$mongepatch" sample "$model" --store "$folder/warm.zarr" --chains "$chains" --warmup "${WARMUP:-1000}" --draws 1 --no-progress
    ;;
  draw)
    task=${SLURM_ARRAY_TASK_ID:-${TASK:-0}}
    store=$folder/$task.zarr
    if [ -e "$store/_mongepatch/run" ]; then
      "$mongepatch" resume "$store" "$model" --no-progress
    else
      "$mongepatch" sample "$model" --store "$store" --tuning "$folder/warm.zarr" --draws "$draws" \
        --chains "$chains" --chain-offset $((task * chains)) --no-progress
    fi
    ;;
  merge)
    "$mongepatch" merge "$folder"/[0-9]*.zarr -o "$folder/all.zarr"
    "$mongepatch" summary "$folder/all.zarr"
    ;;
  *)
    echo "say warm, draw or merge" >&2
    exit 2
    ;;
esac
