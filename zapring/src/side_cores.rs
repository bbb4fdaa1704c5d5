//! The flags that give each side of a run on one host its cores.

use harness::{CoreLayout, CoreList, HostFiles};

use crate::{failure::Failure, value};

/// Cores of both sides; both or neither are given.
#[derive(Debug, clap::Args)]
pub(crate) struct SideCores {
    /// Cores of the server [default: half of those this process may use]
    #[arg(long, requires = "loader_cores", value_name = "LIST")]
    server_cores: Option<CoreList>,
    /// Cores of the loader [default: the other half]
    #[arg(long, requires = "server_cores", value_name = "LIST")]
    loader_cores: Option<CoreList>,
}

impl SideCores {
    /// Whether somebody chose.
    pub(crate) fn given(&self) -> bool {
        self.server_cores.is_some() || self.loader_cores.is_some()
    }

    /// The cores that were given, else halves of all.
    pub(crate) fn split(&self) -> Result<CoreLayout, Failure> {
        match (&self.server_cores, &self.loader_cores) {
            (Some(server), Some(loader)) => {
                value::usable(server)?;
                value::usable(loader)?;
                Ok(CoreLayout::of(server.clone(), loader.clone()))
            }
            _ => Ok(CoreLayout::split(&HostFiles::live().usable_cores()?)),
        }
    }
}
