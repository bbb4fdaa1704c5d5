//! Values on the command line that several commands share.

use std::time::Duration;

use engine::Engine;
use harness::{CoreList, CoreListError, HostFiles};

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

/// A share in percent, as in `5` or `2.5%`.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').unwrap_or(text).trim();
    match percent.parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent < 100.0 => Ok(percent / 100.0),
        _ => Err("not a percentage between 0 and 100, as in 5%".to_owned()),
    }
}

/// Cores that exist and that this process may use.
pub(crate) fn usable(cores: &CoreList) -> Result<Vec<usize>, Failure> {
    let host = HostFiles::live();
    cores.check(&host.online_cores()?, &host.usable_cores()?)?;
    Ok(numbers(cores))
}

/// CPUs in the order given; unlike cores to run on, one may stand there several times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cpus(pub(crate) Vec<usize>);

/// CPUs and ranges, as in `2-3,2`.
pub(crate) fn cpus(text: &str) -> Result<Cpus, String> {
    let mut all = Vec::new();
    for item in text.split(',') {
        let cores: CoreList = item.parse().map_err(|error: CoreListError| error.to_string())?;
        all.extend(numbers(&cores));
    }
    Ok(Cpus(all))
}

/// Every core that this process may use.
pub(crate) fn all_usable() -> Result<Vec<usize>, Failure> {
    Ok(numbers(&HostFiles::live().usable_cores()?))
}

fn numbers(cores: &CoreList) -> Vec<usize> {
    cores.as_slice().iter().map(|core| *core as usize).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages() {
        assert_eq!((share("5"), share("2.5%")), (Ok(0.05), Ok(0.025)));
        for wrong in ["", "0", "-1", "100", "NaN", "five", "inf"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn cpus_keep_their_order_and_may_repeat() {
        assert_eq!(cpus("2-3,2"), Ok(Cpus(vec![2, 3, 2])));
        assert!(cpus("2,x").expect_err("no number").contains("\"x\""));
        assert!(cpus("").is_err());
    }
}
