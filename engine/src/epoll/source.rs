//! What the data of an epoll event says: kind, generation and slot, never a pointer.

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A connection. An event whose generation is not the slot's belongs to an earlier connection in that slot: one that was
    /// closed earlier in the same batch, or whose descriptor a child process holds between fork and exec.
    Connection { generation: u32, slot: u32 },
    /// The listening socket with this index.
    Door(u32),
    /// The control channel.
    Control,
    /// The timer.
    Alarm,
}

/// Generations wrap here.
pub(super) const GENERATIONS: u32 = 1 << 30;

const DOOR: u64 = 1 << 62;
const CONTROL: u64 = 2 << 62;
const ALARM: u64 = 3 << 62;

impl Source {
    /// 2 bits of kind, 30 of generation, 32 of slot.
    #[inline]
    pub(super) fn encode(self) -> u64 {
        match self {
            Source::Connection { generation, slot } => {
                debug_assert!(generation < GENERATIONS);
                u64::from(generation) << 32 | u64::from(slot)
            }
            Source::Door(index) => DOOR | u64::from(index),
            Source::Control => CONTROL,
            Source::Alarm => ALARM,
        }
    }

    #[inline]
    pub(super) fn decode(data: u64) -> Self {
        match data & ALARM {
            0 => Source::Connection { generation: (data >> 32) as u32, slot: data as u32 },
            DOOR => Source::Door(data as u32),
            CONTROL => Source::Control,
            _ => Source::Alarm,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_round_trip() {
        let connections = [(0, 0), (GENERATIONS - 1, u32::MAX), (77, 12345)]
            .map(|(generation, slot)| Source::Connection { generation, slot });
        for source in connections.into_iter().chain([Source::Door(0), Source::Door(7), Source::Control, Source::Alarm])
        {
            assert_eq!(Source::decode(source.encode()), source);
        }
    }
}
