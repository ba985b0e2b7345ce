#!/bin/sh
# Runs a command so many times: how often it failed, and the output of the first failure.
# Ends with 1 when it failed at least once, so that `git bisect run` can use it.
set -u
count=${1:?usage: repeat.sh COUNT COMMAND…}
shift
[ $# -gt 0 ] || { echo "usage: repeat.sh COUNT COMMAND…" >&2; exit 2; }
case $count in '' | *[!0-9]*) echo "repeat.sh: '$count' is no number" >&2; exit 2 ;; esac
out=$(mktemp) || exit 2
trap 'rm -f "$out"' EXIT
failed=0 run=0 codes=""
while [ "$run" -lt "$count" ]; do
    run=$((run + 1))
    "$@" >"$out" 2>&1
    code=$?
    if [ "$code" -ne 0 ]; then
        failed=$((failed + 1))
        case " $codes " in *" $code "*) ;; *) codes="$codes $code" ;; esac
        if [ "$failed" -eq 1 ]; then
            echo "first failure, run $run, exit code $code:"
            tail -n 40 "$out" | sed 's/^/  /'
        fi
    fi
done
echo "runs: $run, failed: $failed${codes:+, exit codes:$codes}"
[ "$failed" -eq 0 ]
