#!/bin/sh
# Tunes the host: single-queue (throughput, server, for 8 CPUs and a network device with one queue, as of 2.5 or 10 Gb/s; interrupts on core 0, a server on cores 1 to 7).
# Made by `zapring tune plan --script`; run as root.
set -eu

nic=${NIC:-eth0}
state=${STATE:-/var/lib/zapring/script-single-queue.state}

# The file of an interrupt, by its name in /proc/interrupts.
irq_file() {
    irq=$(awk -v name="$1" '{ for (i = 2; i <= NF; i++) { word = $i; sub(/,$/, "", word); if (word == name) { sub(/:$/, "", $1); print $1; exit } } }' /proc/interrupts)
    [ -n "$irq" ] && echo "/proc/irq/$irq/smp_affinity_list"
}

# A setting of ethtool, as in: eth0 -G rx. Prints nothing where the driver does not have it.
ethtool_value() {
    case $2 in
    -G) ethtool -g "$1" | awk -v name="$3:" 'tolower($0) ~ /^current/ { now = 1 } now && tolower($1) == name { print $2; exit }' ;;
    -L) ethtool -l "$1" | awk -v name="$3:" 'tolower($0) ~ /^current/ { now = 1 } now && tolower($1) == name { print $2; exit }' ;;
    -C) ethtool -c "$1" | awk -v name="$3" 'name == "adaptive-rx" && /^Adaptive RX:/ { print $3; exit } $1 == name ":" { print $2; exit }' ;;
    -K) ethtool -k "$1" | awk -v name="$3" '
        BEGIN { long["gro"] = "generic-receive-offload:"; long["gso"] = "generic-segmentation-offload:"; long["tso"] = "tx-tcp-segmentation:" }
        $1 == long[name] { print $2; exit }' ;;
    esac 2>/dev/null | grep -v n/a
}

# read_value KIND PLACE: the value of a setting now; fails where it does not exist.
read_value() {
    case $1 in
    irq) file=$(irq_file "$2") && cat "$file" 2>/dev/null ;;
    ethtool)
        # shellcheck disable=SC2086 # interface, option and word
        ethtool_value $2
        ;;
    *) cat "$2" 2>/dev/null ;;
    esac
}

# write_value KIND PLACE VALUE
write_value() {
    case $1 in
    irq) file=$(irq_file "$2") && echo "$3" >"$file" ;;
    ethtool)
        # shellcheck disable=SC2086 # interface, option and word
        set -- $2 "$3"
        link=$(cat "/sys/class/net/$1/carrier" 2>/dev/null || true)
        ethtool "$2" "$1" "$3" "$4" >/dev/null || return 1
        # Rings and channels reset the device.
        case $2 in
        -G | -L)
            sleep 1
            tries=0
            while [ "$link" = 1 ] && [ "$(cat "/sys/class/net/$1/carrier" 2>/dev/null)" != 1 ]; do
                tries=$((tries + 1))
                [ "$tries" -lt 30 ] || return 1
                sleep 1
            done
            ;;
        esac
        ;;
    *) echo "$3" >"$2" ;;
    esac 2>/dev/null
}

# same KIND ONE OTHER: whether both are the same value; masks come with and without commas and leading zeros.
same() {
    case $1 in
    mask) [ "$(echo "$2" | tr -d , | sed 's/^0*//')" = "$(echo "$3" | tr -d , | sed 's/^0*//')" ] ;;
    *) [ "$(echo "$2" | tr -s '\t ' '  ')" = "$(echo "$3" | tr -s '\t ' '  ')" ] ;;
    esac
}

if [ "$(id -u)" -ne 0 ]; then
    echo "this needs root" >&2
    exit 31
fi
if [ -e "$state" ]; then
    echo "$state holds old values that were not restored: run the script that undoes this first" >&2
    exit 41
fi
mkdir -p "$(dirname "$state")"
echo "boot $(cat /proc/sys/kernel/random/boot_id)" >"$state"

# Puts back all that is noted, the last first.
undo() {
    sed '1!G;h;$!d' "$state" | while IFS='|' read -r kind place old; do
        case $kind in boot*) continue ;; esac
        write_value "$kind" "$place" "$old" || echo "cannot put back: $place" >&2
    done
    rm -f "$state"
}

# put needed|optional KIND PLACE VALUE: notes the old value, sets the new one, reads it back.
put() {
    if ! old=$(read_value "$2" "$3"); then
        echo "unsupported: $3"
        [ "$1" = optional ] && return 0
        undo
        echo "failed at $3, everything was undone" >&2
        exit 40
    fi
    if same "$2" "$old" "$4"; then
        echo "already so: $3"
        return 0
    fi
    echo "$2|$3|$old" >>"$state"
    sync "$state" 2>/dev/null || sync
    if write_value "$2" "$3" "$4" && same "$2" "$(read_value "$2" "$3")" "$4"; then
        echo "applied: $3 $4"
        return 0
    fi
    if [ "$1" = optional ]; then
        same "$2" "$(read_value "$2" "$3")" "$old" || write_value "$2" "$3" "$old" || true
        echo "refused: $3"
        return 0
    fi
    undo
    echo "refused: $3, everything was undone" >&2
    exit 40
}

finish() { echo "done; old values are in $state"; }

trap 'undo; exit 130' INT TERM

# Asked for: as long as the device has them; the link may go down for a moment. Source: ENA Linux best practices.
put optional ethtool "$nic -G rx" 4096

# Asked for: as long as the device has them; the link may go down for a moment. Source: ENA Linux best practices.
put optional ethtool "$nic -G tx" 4096

# Queue 0 goes with core 0, where its packets are handled. Source: kernel: networking/scaling.rst.
put optional irq "$nic-rx-0" 0

# Queue 0 goes with core 0, where its packets are handled. Source: kernel: networking/scaling.rst.
put optional irq "$nic-tx-0" 0

# 1 receive queue for 7 workers; core 0 takes the interrupts and is left out. Source: kernel: networking/scaling.rst.
put needed mask "/sys/class/net/$nic/queues/rx-0/rps_cpus" fe

# Packets go to the core that reads their connection; this is the queue's half of it. Source: kernel: networking/scaling.rst.
put needed plain "/sys/class/net/$nic/queues/rx-0/rps_flow_cnt" 32768

# The table of which core reads which connection; without it the queues' half does nothing. Source: kernel: networking/scaling.rst.
put needed plain /proc/sys/net/core/rps_sock_flow_entries 32768

# A burst of connections shall find room to be accepted. Source: kernel: admin-guide/sysctl/net.rst.
put optional plain /proc/sys/net/core/somaxconn 65535

# A burst of connections shall find room for its handshakes. Source: kernel: networking/ip-sysctl.rst.
put optional plain /proc/sys/net/ipv4/tcp_max_syn_backlog 65535

# Packets handed to another core shall find room there. Source: kernel: admin-guide/sysctl/net.rst.
put optional plain /proc/sys/net/core/netdev_max_backlog 65535

# A connection that paused shall not start slowly again. Source: kernel: networking/ip-sysctl.rst.
put optional plain /proc/sys/net/ipv4/tcp_slow_start_after_idle 0

# A run shall not begin with what an earlier one left in the cache of routes. Source: kernel: networking/ip-sysctl.rst.
put optional plain /proc/sys/net/ipv4/tcp_no_metrics_save 1

# CPUs 0 shall not change their clock during a run. Source: kernel: admin-guide/pm/cpufreq.rst.
put needed plain /sys/devices/system/cpu/cpufreq/policy0/scaling_governor performance

# CPUs 1 shall not change their clock during a run. Source: kernel: admin-guide/pm/cpufreq.rst.
put needed plain /sys/devices/system/cpu/cpufreq/policy1/scaling_governor performance

# CPUs 2 shall not change their clock during a run. Source: kernel: admin-guide/pm/cpufreq.rst.
put needed plain /sys/devices/system/cpu/cpufreq/policy2/scaling_governor performance

# CPUs 3 shall not change their clock during a run. Source: kernel: admin-guide/pm/cpufreq.rst.
put needed plain /sys/devices/system/cpu/cpufreq/policy3/scaling_governor performance

# CPUs 4 shall not change their clock during a run. Source: kernel: admin-guide/pm/cpufreq.rst.
put needed plain /sys/devices/system/cpu/cpufreq/policy4/scaling_governor performance

# CPUs 5 shall not change their clock during a run. Source: kernel: admin-guide/pm/cpufreq.rst.
put needed plain /sys/devices/system/cpu/cpufreq/policy5/scaling_governor performance

# CPUs 6 shall not change their clock during a run. Source: kernel: admin-guide/pm/cpufreq.rst.
put needed plain /sys/devices/system/cpu/cpufreq/policy6/scaling_governor performance

# CPUs 7 shall not change their clock during a run. Source: kernel: admin-guide/pm/cpufreq.rst.
put needed plain /sys/devices/system/cpu/cpufreq/policy7/scaling_governor performance

finish
