//! Values on the command line that several commands share.

use std::time::Duration;

use engine::Engine;
use harness::{CoreList, HostFiles};

use crate::failure::Failure;

/// An engine by name.
pub(crate) fn engine(text: &str) -> Result<Engine, String> {
    text.parse()
}

/// A time with unit; a bare number is seconds.
pub(crate) fn time_ns(text: &str) -> Result<u64, String> {
    loader::value::time_ns(text).map_err(|error| error.to_string())
}

/// As [`time_ns`], for what takes a [`Duration`].
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    time_ns(text).map(Duration::from_nanos)
}

/// A size with a unit that says what it multiplies by; a bare number is bytes.
pub(crate) fn size_bytes(text: &str) -> Result<usize, String> {
    let bytes = loader::value::size_bytes(text).map_err(|error| error.to_string())?;
    usize::try_from(bytes).map_err(|_| format!("{text} is more than this machine can address"))
}

/// Cores that exist and that this process may use.
pub(crate) fn usable(cores: &CoreList) -> Result<Vec<usize>, Failure> {
    let host = HostFiles::live();
    cores.check(&host.online_cores()?, &host.usable_cores()?)?;
    Ok(numbers(cores))
}

/// Every core that this process may use.
pub(crate) fn all_usable() -> Result<Vec<usize>, Failure> {
    Ok(numbers(&HostFiles::live().usable_cores()?))
}

fn numbers(cores: &CoreList) -> Vec<usize> {
    cores.as_slice().iter().map(|core| *core as usize).collect()
}
