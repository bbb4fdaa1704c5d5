//! Replies on the floor wire: their length is read and compared with the one asked for, and the rest counted as it arrives.

use codec::{floor, limits::PREFIX_BYTES};

use super::{Answer, Asked, End, Fault, Found, Memo, Seen, Wire};
use crate::limits::WHOLE_FRAME_BYTES;

/// The parse state of one floor connection.
#[derive(Debug, Default)]
pub struct Floor {
    /// Bytes of the large reply under way.
    reply_bytes: usize,
    /// Those of them that have not come yet; 0 between replies.
    left_bytes: usize,
}

/// A whole reply.
#[inline]
fn answer(reply_bytes: usize, asked: &Asked) -> Found {
    Found::Answer(Answer {
        status: 0,
        body_bytes: (reply_bytes - PREFIX_BYTES) as u64,
        body_matches: reply_bytes == asked.reply_bytes,
        reusable: true,
    })
}

impl Wire for Floor {
    const HAS_STATUS: bool = false;

    #[inline]
    fn read(&mut self, input: &[u8], asked: &Asked, _memo: &mut Memo) -> Result<Seen, Fault> {
        if self.left_bytes > 0 {
            return Ok(self.skip(input, asked));
        }
        let Some(reply_bytes) = floor::reply_bytes(input).map_err(Fault::Floor)? else {
            return Ok(Seen { consumed: 0, found: Found::Need(PREFIX_BYTES) });
        };
        if reply_bytes <= input.len() {
            return Ok(Seen { consumed: reply_bytes, found: answer(reply_bytes, asked) });
        }
        if reply_bytes <= WHOLE_FRAME_BYTES {
            return Ok(Seen { consumed: 0, found: Found::Need(reply_bytes) });
        }
        (self.reply_bytes, self.left_bytes) = (reply_bytes, reply_bytes);
        Ok(self.skip(input, asked))
    }

    fn end(&mut self, _asked: &Asked) -> End {
        let begun = self.left_bytes > 0;
        self.reset();
        if begun { End::Cut(Fault::CutReply) } else { End::Nothing }
    }
}

impl Floor {
    /// Takes as much of a large reply as there is.
    fn skip(&mut self, input: &[u8], asked: &Asked) -> Seen {
        let consumed = input.len().min(self.left_bytes);
        self.left_bytes -= consumed;
        let found = if self.left_bytes == 0 { answer(self.reply_bytes, asked) } else { Found::Need(0) };
        Seen { consumed, found }
    }
}
