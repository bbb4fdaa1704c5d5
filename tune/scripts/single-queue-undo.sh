#!/bin/sh
# Undoes what the script single-queue did (throughput, server, for 8 CPUs and a network device with one queue, as of 2.5 or 10 Gb/s; interrupts on core 0, a server on cores 1 to 7).
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

if [ ! -e "$state" ]; then
    echo "nothing to undo: there is no $state"
    exit 0
fi
if [ "$(head -n 1 "$state")" != "boot $(cat /proc/sys/kernel/random/boot_id)" ]; then
    echo "the host was booted since, so its settings are gone"
    rm -f "$state"
    exit 0
fi
left=0

# back KIND PLACE: writes the old value, if one was noted.
back() {
    line=$(grep -F "$1|$2|" "$state" | head -n 1)
    [ -n "$line" ] || return 0
    old=${line#"$1|$2|"}
    now=$(read_value "$1" "$2") || { echo "gone: $2"; return 0; }
    same "$1" "$now" "$old" && return 0
    if write_value "$1" "$2" "$old" && same "$1" "$(read_value "$1" "$2")" "$old"; then
        echo "back: $2 $old"
    else
        echo "cannot put back: $2 $old" >&2
        left=1
    fi
}

finish() {
    [ "$left" -eq 0 ] || exit 41
    rm -f "$state"
}

back plain /sys/devices/system/cpu/cpufreq/policy7/scaling_governor
back plain /sys/devices/system/cpu/cpufreq/policy6/scaling_governor
back plain /sys/devices/system/cpu/cpufreq/policy5/scaling_governor
back plain /sys/devices/system/cpu/cpufreq/policy4/scaling_governor
back plain /sys/devices/system/cpu/cpufreq/policy3/scaling_governor
back plain /sys/devices/system/cpu/cpufreq/policy2/scaling_governor
back plain /sys/devices/system/cpu/cpufreq/policy1/scaling_governor
back plain /sys/devices/system/cpu/cpufreq/policy0/scaling_governor
back plain /proc/sys/net/ipv4/tcp_no_metrics_save
back plain /proc/sys/net/ipv4/tcp_slow_start_after_idle
back plain /proc/sys/net/core/netdev_max_backlog
back plain /proc/sys/net/ipv4/tcp_max_syn_backlog
back plain /proc/sys/net/core/somaxconn
back plain /proc/sys/net/core/rps_sock_flow_entries
back plain "/sys/class/net/$nic/queues/rx-0/rps_flow_cnt"
back mask "/sys/class/net/$nic/queues/rx-0/rps_cpus"
back irq "$nic-tx-0"
back irq "$nic-rx-0"
back ethtool "$nic -G tx"
back ethtool "$nic -G rx"

finish
