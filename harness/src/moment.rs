//! When a document was begun: the one look at the clock that its id and its start are made from.

use std::time::{SystemTime, UNIX_EPOCH};

use results::timestamp;

/// A moment as documents name it.
#[derive(Debug)]
pub(crate) struct Moment {
    pub(crate) run_id: String,
    pub(crate) started_at: String,
}

impl Moment {
    pub(crate) fn now() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let unix_ns = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        Self { run_id: timestamp::run_id(unix_ns, std::process::id()), started_at: timestamp::rfc3339(unix_ns) }
    }
}
