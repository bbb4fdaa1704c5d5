//! The warm-up: what happened before the clock started. Excluded from every figure, shown all the same.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::requests::Requests;

/// What the warm-up did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Warmup {
    /// Its real length.
    pub elapsed_ns: u64,
    /// Its outcomes. Failures here make the run unclean.
    pub requests: Requests,
}
