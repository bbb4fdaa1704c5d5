#!/bin/sh
# Stands in for the zapring executable in the tests: `serve` and `load` as bench and sweep see them from outside. Every process adds
# its command line to FOLDER/calls and its pid to FOLDER/pids. --fake MODE picks what goes wrong; FOLDER/run.json is the loader's
# result, or FOLDER/run-buffers-N.json with --buffers N where that is there.
set -eu

command=$1
all=$*
shift
mode=ok
folder=
listen=
buffers=none
while [ $# -gt 0 ]; do
    case $1 in
    --fake) mode=$2 && shift 2 ;;
    --folder) folder=$2 && shift 2 ;;
    --listen) listen="$listen $2" && shift 2 ;;
    --buffers) buffers=$2 && shift 2 ;;
    *) shift ;;
    esac
done
result=$folder/run-buffers-$buffers.json
[ -f "$result" ] || result=$folder/run.json
echo "$all" >>"$folder/calls"
echo $$ >>"$folder/pids"

announce() {
    echo "engine fake"
    for url in $listen; do
        if [ "$mode" != no_zap ] || [ "${url%%:*}" != zap ]; then
            echo "listening ${url%:0}:4242"
        fi
    done
    echo ready
}

serve() {
    case $mode in
    dies_at_start)
        echo "address 127.0.0.1:0 is taken" >&2
        exit 32
        ;;
    never_ready)
        echo "still thinking" >&2
        exec sleep 60
        ;;
    refuses_64)
        if [ "$buffers" = 64 ]; then
            echo "--buffers 64: it must be more" >&2
            exit 2
        fi
        announce
        exec sleep 60
        ;;
    dies_midway)
        announce
        sleep 0.4
        echo "the ring broke" >&2
        exit 3
        ;;
    deaf)
        trap '' TERM
        announce
        sleep 60 &
        echo $! >>"$folder/pids"
        wait
        ;;
    *)
        announce
        exec sleep 60
        ;;
    esac
}

load() {
    case $mode in
    failures)
        cat "$result"
        echo "exit 10: requests_failed" >&2
        exit 10
        ;;
    garbage) echo "this is not a run" ;;
    truncated) head -c 300 "$result" ;;
    refused)
        echo "error: unexpected argument" >&2
        exit 2
        ;;
    floods) head -c 40000000 /dev/zero ;;
    hangs)
        trap '' TERM
        sleep 60 &
        echo $! >>"$folder/pids"
        wait
        ;;
    slow) exec sleep 60 ;;
    *) cat "$result" ;;
    esac
}

"$command"
