//! What `user_data` of a ring operation says: kind, generation and slot, never a pointer.

/// What an operation was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Accept = 1,
    /// A multishot receive into provided buffers.
    Receive,
    /// A receive of its own into the connection's inbox.
    ReceiveInto,
    Send,
    Connect,
    Control,
    /// A cancellation itself; what it cancelled completes on its own.
    Cancel,
    /// A socket put into the ring's table; completes only when that failed.
    Put,
}

/// 8 bits of kind, 24 of the slot's generation, 32 of its index. A completion whose generation is not the slot's belongs to an
/// earlier connection in that slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) generation: u32,
    pub(super) slot: u32,
}

/// Generations wrap here.
pub(super) const GENERATIONS: u32 = 1 << 24;

impl Token {
    #[inline]
    pub(super) fn encode(self) -> u64 {
        debug_assert!(self.generation < GENERATIONS);
        (self.kind as u64) << 56 | u64::from(self.generation) << 32 | u64::from(self.slot)
    }

    /// `None` for a value that no token encodes to.
    #[inline]
    pub(super) fn decode(data: u64) -> Option<Self> {
        let kind = match data >> 56 {
            1 => Kind::Accept,
            2 => Kind::Receive,
            3 => Kind::ReceiveInto,
            4 => Kind::Send,
            5 => Kind::Connect,
            6 => Kind::Control,
            7 => Kind::Cancel,
            8 => Kind::Put,
            _ => return None,
        };
        Some(Token { kind, generation: (data >> 32) as u32 & (GENERATIONS - 1), slot: data as u32 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_round_trip_and_others_are_none() {
        for kind in [
            Kind::Accept,
            Kind::Receive,
            Kind::ReceiveInto,
            Kind::Send,
            Kind::Connect,
            Kind::Control,
            Kind::Cancel,
            Kind::Put,
        ] {
            for (generation, slot) in [(0, 0), (GENERATIONS - 1, u32::MAX), (77, 12345)] {
                let token = Token { kind, generation, slot };
                assert_eq!(Token::decode(token.encode()), Some(token));
            }
        }
        assert_eq!(Token::decode(0), None);
        assert_eq!(Token::decode(u64::MAX), None);
    }
}
