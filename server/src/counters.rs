//! What each shard answered, readable by anyone at any time; the engine counts connections, bytes and operations.

use engine::Count;
use serde::Serialize;

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counters of one shard: one writer, relaxed loads and stores, and a pair of cache lines to itself.
        #[derive(Debug, Default)]
        #[repr(align(128))]
        pub struct RequestCounts { $($(#[$doc])* pub $name: Count,)* }

        /// A copy of [`RequestCounts`] at one moment.
        #[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
        pub struct RequestFigures { $($(#[$doc])* pub $name: u64,)* }

        impl RequestCounts {
            /// The figures now; not one consistent cut, each is right on its own.
            pub fn read(&self) -> RequestFigures {
                RequestFigures { $($name: self.$name.get(),)* }
            }
        }

        impl std::ops::AddAssign for RequestFigures {
            fn add_assign(&mut self, other: Self) { $(self.$name = self.$name.wrapping_add(other.$name);)* }
        }
    };
}

counts! {
    /// Requests answered on zap, errors included.
    zap_requests,
    /// Requests answered on http, errors included.
    http_requests,
    /// Requests answered on floor.
    floor_requests,
    /// Answers with a status of 400 to 499.
    answers_4xx,
    /// Answers with a status of 500 and more.
    answers_5xx,
    /// Connections ended because their bytes were not a request.
    malformed,
    /// Connections ended because a head or a body took too long.
    timeouts,
    /// Connections ended because no request came.
    idle_closed,
    /// Requests refused because the shard's memory limit left no room for their body or answer.
    over_memory,
    /// Streamed answers begun.
    streams,
}

impl RequestFigures {
    /// Requests on all wires.
    pub fn requests(&self) -> u64 {
        self.zap_requests.wrapping_add(self.http_requests).wrapping_add(self.floor_requests)
    }
}

impl RequestCounts {
    /// Counts an answer that is not a plain success; successes are what is left of the requests.
    #[inline]
    pub(crate) fn status(&self, status: u16) {
        match status {
            400..=499 => self.answers_4xx.add(1),
            500.. => self.answers_5xx.add(1),
            _ => {}
        }
    }
}
