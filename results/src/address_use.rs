//! Where the connections of a run went.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One address of the target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AddressUse {
    /// Address and port, or a unix socket's path.
    pub address: String,
    /// Connections of the plan that reached it.
    pub connections: u32,
}
