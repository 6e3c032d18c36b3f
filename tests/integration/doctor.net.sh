#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# doctor.net.sh: a host measures its link, and `tributary doctor` writes the rate into the file of the network: within a tenth of the rate that the
# link has. The host is found in the file by its address.
. "$(dirname "$0")/network.sh"

net_tree 2 1
net_switches_start
S=${NET_ADDRESS[s0]}
for host in w0 w1; do printf '[[link]]\nbetween = "%s %s:7470"\nrate = "10Gbps"\n' "${NET_ADDRESS[$host]}" "$S"; done >"$TMP/net.toml"

# rate_of HOST: Mbit/s in the file.
rate_of() { sed -n "/^between = \"${NET_ADDRESS[$1]} /{n;s/^rate = \"\\([0-9.]*\\)Mbps\"\$/\\1/p}" "$TMP/net.toml"; }
measures() {
    expect 0 'has both numbers' nsenter --net=/run/netns/w0 "$TRIBUTARY" doctor --switch "$S" --topology "$TMP/net.toml"
    say "$1 Mbit/s: $(rate_of w0)"
    awk -v a="$(rate_of w0)" -v b="$1" 'BEGIN { exit !(a >= 0.9 * b && a <= 1.1 * b) }'
}
for rate in 20 100 250; do
    net_rate ${rate}mbit
    thrice "the rate is right, within a tenth: $rate Mbit/s" measures $rate
done
check_in "the other host has what it had" '^rate = "10Gbps"$' "$TMP/net.toml"
check_in "the overhead" '^step_overhead = "[0-9.]+(us|ms)"$' "$TMP/net.toml"
net_switches_stop
finish
