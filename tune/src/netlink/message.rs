//! One question over one netlink socket: a fixed header, attributes behind it, and what comes back. Knows no family.

use std::io::Cursor;

use neli::consts::{nl::NlmF, socket::NlFamily};
use neli::err::RouterError;
use neli::genl::{AttrTypeBuilder, Nlattr, NlattrBuilder};
use neli::nl::NlPayload;
use neli::router::synchronous::NlRouter;
use neli::types::{Buffer, GenlBuffer};
use neli::utils::Groups;
use neli::{FromBytesWithInput as _, ToBytes as _};

use super::NetlinkError;

/// `NLMSG_DONE`, the end of a list (linux/netlink.h).
const DONE: u16 = 3;

/// `NLMSGERR_ATTR_MSG`, the kernel's own words about an error.
const ERROR_TEXT: u16 = 1;

/// An attribute to be sent.
pub(super) type Attr = Nlattr<u16, Buffer>;

/// An attribute with bytes in it.
pub(super) fn attr(kind: u16, payload: &[u8]) -> Attr {
    let kind = AttrTypeBuilder::default().nla_type(kind).build().expect("the type is given");
    let built = NlattrBuilder::default().nla_type(kind).nla_payload(Buffer::from(payload)).build();
    built.expect("type and payload are given")
}

/// An attribute with attributes in it.
pub(super) fn nest(kind: u16, inner: &[Attr]) -> Attr {
    let kind = AttrTypeBuilder::default().nla_type(kind).nla_nested(true).build().expect("the type is given");
    let built = NlattrBuilder::default().nla_type(kind).nla_payload(Buffer::from(bytes(&[], inner))).build();
    built.expect("type and payload are given")
}

/// A text as the kernel wants it, with its zero.
pub(super) fn zero_ended(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(0);
    bytes
}

fn bytes(header: &[u8], attrs: &[Attr]) -> Vec<u8> {
    let mut cursor = Cursor::new(header.to_vec());
    cursor.set_position(header.len() as u64);
    for attr in attrs {
        attr.to_bytes(&mut cursor).expect("a vector takes what is written to it");
    }
    cursor.into_inner()
}

/// Attributes that were received, in order.
#[derive(Debug, Default)]
pub(super) struct Attrs(Vec<(u16, Vec<u8>)>);

impl Attrs {
    /// Reads what stands behind a header; what is cut is left out.
    pub(super) fn parse(bytes: &[u8]) -> Self {
        let parsed = GenlBuffer::<u16, Buffer>::from_bytes_with_input(&mut Cursor::new(bytes), bytes.len());
        let pair = |attr: &Attr| (*attr.nla_type().nla_type(), attr.nla_payload().as_ref().to_vec());
        Self(parsed.map(|attrs| attrs.iter().map(pair).collect()).unwrap_or_default())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u16, &[u8])> {
        self.0.iter().map(|(kind, payload)| (*kind, payload.as_slice()))
    }

    pub(super) fn bytes(&self, kind: u16) -> Option<&[u8]> {
        self.iter().find(|(found, _)| *found == kind).map(|(_, payload)| payload)
    }

    pub(super) fn has(&self, kind: u16) -> bool {
        self.bytes(kind).is_some()
    }

    pub(super) fn number(&self, kind: u16) -> Option<u32> {
        self.bytes(kind)?.try_into().ok().map(u32::from_ne_bytes)
    }

    /// A number that stands there in network order.
    pub(super) fn network_number(&self, kind: u16) -> Option<u32> {
        self.bytes(kind)?.try_into().ok().map(u32::from_be_bytes)
    }

    pub(super) fn text(&self, kind: u16) -> Option<String> {
        let bytes = self.bytes(kind)?;
        let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        String::from_utf8(text.to_vec()).ok()
    }

    pub(super) fn inner(&self, kind: u16) -> Option<Self> {
        self.bytes(kind).map(Self::parse)
    }
}

/// One socket.
pub(super) struct Socket(NlRouter);

impl Socket {
    pub(super) fn open(family: NlFamily) -> Result<Self, NetlinkError> {
        let (router, _) = NlRouter::connect(family, None, Groups::empty()).map_err(explain)?;
        // The kernel's own words about a refusal; a kernel that has none to give still answers.
        let _ = router.enable_ext_ack(true);
        Ok(Self(router))
    }

    /// The number of a generic netlink family.
    pub(super) fn family(&self, name: &str) -> Result<u16, NetlinkError> {
        let found = self.0.resolve_genl_family(name);
        found.map_err(|_| NetlinkError::Unsupported { message: format!("this kernel has no netlink family {name}") })
    }

    /// Asks and collects every answer, each without its netlink header.
    pub(super) fn ask(
        &self,
        kind: u16,
        flags: NlmF,
        header: &[u8],
        attrs: &[Attr],
    ) -> Result<Vec<Vec<u8>>, NetlinkError> {
        let payload = NlPayload::Payload(Buffer::from(bytes(header, attrs)));
        let answers = self.0.send::<u16, Buffer, u16, Buffer>(kind, flags, payload).map_err(explain)?;
        let mut all = Vec::new();
        for answer in answers {
            let answer = answer.map_err(explain)?;
            if *answer.nl_type() == DONE {
                break;
            }
            if let NlPayload::Payload(bytes) = answer.nl_payload() {
                all.push(bytes.as_ref().to_vec());
            }
        }
        Ok(all)
    }
}

fn explain(error: RouterError<u16, Buffer>) -> NetlinkError {
    let RouterError::Nlmsgerr(refusal) = error else { return NetlinkError::Broken(error.to_string()) };
    let said = refusal.ext_ack().iter().find(|attr| u16::from(attr.nla_type().nla_type()) == ERROR_TEXT);
    let said = said.map(|attr| String::from_utf8_lossy(attr.nla_payload().as_ref()).trim_end_matches('\0').to_owned());
    let errno = refusal.error().unsigned_abs();
    refused(errno, said.unwrap_or_default())
}

/// What an errno means here.
fn refused(errno: u32, message: String) -> NetlinkError {
    let reason = i32::try_from(errno).map(rustix::io::Errno::from_raw_os_error);
    match reason {
        Ok(rustix::io::Errno::OPNOTSUPP) => NetlinkError::Unsupported { message },
        Ok(rustix::io::Errno::PERM | rustix::io::Errno::ACCESS) => NetlinkError::Permission,
        Ok(
            rustix::io::Errno::NODEV
            | rustix::io::Errno::NETUNREACH
            | rustix::io::Errno::SRCH
            | rustix::io::Errno::NOENT,
        ) => NetlinkError::Missing { message },
        Ok(errno) => NetlinkError::Refused { reason: errno.to_string(), message },
        Err(_) => NetlinkError::Broken(format!("error number {errno}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_read_back() {
        let inner = [attr(1, &7u32.to_ne_bytes()), attr(2, &zero_ended("eth0")), attr(3, &[])];
        let sent = bytes(&[9, 9, 9, 9], &[nest(1, &inner), attr(5, &[1]), attr(6, &8u32.to_be_bytes())]);
        assert_eq!(&sent[..4], [9, 9, 9, 9]);
        let attrs = Attrs::parse(&sent[4..]);
        let nested = attrs.inner(1).expect("it was sent");
        assert_eq!((nested.number(1), nested.text(2).as_deref(), nested.has(3)), (Some(7), Some("eth0"), true));
        assert_eq!((attrs.network_number(6), attrs.number(5), attrs.has(4)), (Some(8), None, false));
        for cut in 0..sent.len() - 4 {
            let _ = Attrs::parse(&sent[4..4 + cut]);
        }
    }

    #[test]
    fn refusals_are_told_apart() {
        let none = String::new;
        assert!(matches!(refused(95, none()), NetlinkError::Unsupported { .. }));
        assert_eq!(refused(1, none()), NetlinkError::Permission);
        assert!(matches!(refused(19, none()), NetlinkError::Missing { .. }));
        let clamped = refused(22, "requested ring size exceeds maximum".to_owned());
        assert_eq!(
            clamped.to_string(),
            "refused: Invalid argument (os error 22) (requested ring size exceeds maximum)"
        );
    }
}
