//! Sockets that get a copy of packets (`/proc/net/packet`), and who holds them. Asks processes for their names.

use std::fs;

use serde::{Deserialize, Serialize};

use crate::limits::{MAX_PROCESSES, MAX_SNIFFERS};
use crate::roots::{Roots, numbered, text};

/// A packet socket.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Sniffer {
    /// The EtherType it takes: 3 is every packet.
    pub protocol: u16,
    /// Index of the interface it listens on; 0 is all of them.
    pub ifindex: u32,
    /// Who holds it, as in `dhclient (412)`; `None` when no process that may be asked does.
    pub owner: Option<String>,
}

pub(super) fn read(roots: &Roots) -> Vec<Sniffer> {
    let table = text(&roots.proc("net/packet")).unwrap_or_default();
    let rows: Vec<(Sniffer, String)> = table.lines().skip(1).filter_map(row).take(MAX_SNIFFERS).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let wanted: Vec<String> = rows.iter().map(|(_, inode)| format!("socket:[{inode}]")).collect();
    let mut owners = vec![None; rows.len()];
    for pid in processes(roots) {
        let Ok(files) = fs::read_dir(roots.proc(format!("{pid}/fd"))) else { continue };
        for target in files.flatten().filter_map(|file| fs::read_link(file.path()).ok()) {
            if let Some(index) = wanted.iter().position(|wanted| target.as_os_str() == wanted.as_str()) {
                let name = text(&roots.proc(format!("{pid}/comm"))).unwrap_or_default();
                owners[index].get_or_insert_with(|| format!("{name} ({pid})"));
            }
        }
    }
    rows.into_iter().zip(owners).map(|((sniffer, _), owner)| Sniffer { owner, ..sniffer }).collect()
}

/// `sk RefCnt Type Proto Iface R Rmem User Inode`, the protocol in hexadecimal.
fn row(line: &str) -> Option<(Sniffer, String)> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let [_, _, _, protocol, ifindex, .., inode] = fields.as_slice() else { return None };
    let protocol = u16::from_str_radix(protocol, 16).ok()?;
    // A socket without a protocol gets nothing.
    (protocol != 0).then_some(())?;
    Some((Sniffer { protocol, ifindex: ifindex.parse().ok()?, owner: None }, (*inode).to_owned()))
}

fn processes(roots: &Roots) -> Vec<u32> {
    let mut all = numbered(&roots.proc(""), "");
    all.truncate(MAX_PROCESSES);
    all
}

/// The lowest process id that runs under this name.
pub(super) fn process_named(roots: &Roots, name: &str) -> Option<u32> {
    processes(roots).into_iter().find(|pid| text(&roots.proc(format!("{pid}/comm"))).as_deref() == Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packet_sockets() {
        let line = "ffff8881 3      3    0003   2     1 0          0      31337 ";
        let (sniffer, inode) = row(line).expect("a whole line");
        assert_eq!((sniffer.protocol, sniffer.ifindex, inode.as_str()), (3, 2, "31337"));
        assert_eq!((row("ffff 3 3 0000 0 0 0 0 1"), row("ffff 3 3"), row("")), (None, None, None));
    }
}
