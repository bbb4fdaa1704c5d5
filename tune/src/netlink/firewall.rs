//! Chains of nftables that packets run through, over nfnetlink (linux/netfilter/nf_tables.h).

use neli::consts::{nl::NlmF, socket::NlFamily};

use super::message::{Attrs, Socket};
use super::{Chain, NetlinkError};

/// `NFNL_SUBSYS_NFTABLES` and `NFT_MSG_GETCHAIN`.
const GET_CHAIN: u16 = (10 << 8) | 4;

/// Bytes of `struct nfgenmsg`: family (0 is all of them), version, resource.
const HEADER: [u8; 4] = [0; 4];

const TABLE: u16 = 1;
const NAME: u16 = 3;
/// Only chains that packets run through by themselves have one.
const HOOK: u16 = 4;
/// Rules in a chain, and jumps to it.
const USE: u16 = 6;

pub(super) fn chains() -> Result<Vec<Chain>, NetlinkError> {
    let socket = Socket::open(NlFamily::Netfilter)?;
    let answers = match socket.ask(GET_CHAIN, NlmF::DUMP, &HEADER, &[]) {
        // A kernel without nftables, or with its module not loaded, knows no such message.
        Err(NetlinkError::Refused { .. } | NetlinkError::Unsupported { .. }) => return Ok(Vec::new()),
        answers => answers?,
    };
    Ok(answers.iter().filter_map(|answer| chain(answer.get(HEADER.len()..)?)).collect())
}

fn chain(attrs: &[u8]) -> Option<Chain> {
    let attrs = Attrs::parse(attrs);
    if !attrs.has(HOOK) {
        return None;
    }
    Some(Chain { table: attrs.text(TABLE)?, name: attrs.text(NAME)?, rules: attrs.network_number(USE).unwrap_or(0) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::message::{attr, nest, zero_ended};

    #[test]
    fn only_chains_with_a_hook_count() {
        let named =
            [attr(TABLE, &zero_ended("filter")), attr(NAME, &zero_ended("INPUT")), attr(USE, &3u32.to_be_bytes())];
        let bytes = |attrs: &[_]| nest(1, attrs).nla_payload().as_ref().to_vec();
        assert_eq!(chain(&bytes(&named)), None);
        let mut hooked = named.to_vec();
        hooked.push(nest(HOOK, &[]));
        let found = chain(&bytes(&hooked)).expect("it has a hook");
        assert_eq!(found, Chain { table: "filter".to_owned(), name: "INPUT".to_owned(), rules: 3 });
    }

    #[test]
    fn this_host_answers_or_wants_a_capability() {
        assert!(matches!(chains(), Ok(_) | Err(NetlinkError::Permission)));
    }
}
