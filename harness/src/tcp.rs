//! TCP's counters: `/proc/net/snmp` and `/proc/net/netstat`, where one line names the columns and the next has the numbers.

use std::fs;

use results::TcpCounts;

use crate::host::HostFiles;

/// Counters since boot. What this kernel or namespace does not have is `None`.
#[must_use]
pub fn tcp_counts(files: &HostFiles) -> TcpCounts {
    let text = |name: &str| fs::read_to_string(files.proc_path("net").join(name)).unwrap_or_default();
    let (snmp, netstat) = (text("snmp"), text("netstat"));
    TcpCounts {
        segments_sent: counter(&snmp, "Tcp", "OutSegs"),
        retransmits: counter(&snmp, "Tcp", "RetransSegs"),
        listen_overflows: counter(&netstat, "TcpExt", "ListenOverflows"),
        listen_drops: counter(&netstat, "TcpExt", "ListenDrops"),
    }
}

/// The difference of two samples; `None` when nothing was counted at either end.
#[must_use]
pub fn since(start: &TcpCounts, end: &TcpCounts) -> Option<TcpCounts> {
    let since = |start: Option<u64>, end: Option<u64>| Some(end?.saturating_sub(start?));
    let counts = TcpCounts {
        segments_sent: since(start.segments_sent, end.segments_sent),
        retransmits: since(start.retransmits, end.retransmits),
        listen_overflows: since(start.listen_overflows, end.listen_overflows),
        listen_drops: since(start.listen_drops, end.listen_drops),
    };
    (counts != TcpCounts::default()).then_some(counts)
}

/// Columns are found by name: kernels add and move them.
fn counter(text: &str, group: &str, name: &str) -> Option<u64> {
    let mut rows = text.lines().filter_map(|line| line.strip_prefix(group)?.strip_prefix(':'));
    let column = rows.next()?.split_ascii_whitespace().position(|column| column == name)?;
    rows.next()?.split_ascii_whitespace().nth(column)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From Linux 6.18, without most columns of `TcpExt`.
    const SNMP: &str = "Udp: InDatagrams NoPorts\nUdp: 7 8\n\
        Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab InSegs OutSegs RetransSegs InErrs OutRsts InCsumErrors\n\
        Tcp: 1 200 120000 -1 830505 829594 585 151728 0 763938628 763816242 144912 0 87334 0\n\
        UdpLite: InDatagrams\nUdpLite: 0\n";
    const NETSTAT: &str = "TcpExt: SyncookiesSent DelayedACKLost ListenOverflows ListenDrops TCPHPHits\n\
        TcpExt: 0 175 142917 142920 724747705\nIpExt: InNoRoutes\nIpExt: 3\n";

    fn counts(snmp: &str, netstat: &str) -> TcpCounts {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let files = HostFiles::at(folder.path(), folder.path());
        fs::create_dir(files.proc_path("net")).expect("writable");
        fs::write(files.proc_path("net/snmp"), snmp).expect("writable");
        fs::write(files.proc_path("net/netstat"), netstat).expect("writable");
        tcp_counts(&files)
    }

    #[test]
    fn captured_text() {
        let want = TcpCounts {
            segments_sent: Some(763_816_242),
            retransmits: Some(144_912),
            listen_overflows: Some(142_917),
            listen_drops: Some(142_920),
        };
        assert_eq!(counts(SNMP, NETSTAT), want);
    }

    #[test]
    fn broken_text_says_nothing() {
        for broken in ["", "Tcp:\n", "Tcp: OutSegs\n", "Tcp: OutSegs\nTcp:\n", "Tcp: OutSegs\nTcp: x\n", "\u{0}", "Tcp"]
        {
            assert_eq!(counts(broken, broken), TcpCounts::default(), "{broken:?}");
        }
        assert_eq!(tcp_counts(&HostFiles::at("/nonexistent", "/nonexistent")), TcpCounts::default());
    }

    #[test]
    fn differences() {
        let start = counts(SNMP, NETSTAT);
        let end = counts(&SNMP.replace("144912", "144999"), "");
        let since_start = since(&start, &end).expect("something was counted");
        assert_eq!((since_start.retransmits, since_start.segments_sent), (Some(87), Some(0)));
        assert_eq!((since_start.listen_overflows, since_start.listen_drops), (None, None));
        assert_eq!(since(&TcpCounts::default(), &end), None);
    }
}
