//! SIGINT and SIGTERM as something that happens on a thread of its own. The second one ends the process at once.

use std::{io, thread};

use results::ExitCode;
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    iterator::Signals,
    low_level,
};

/// Calls `act` at the first SIGINT or SIGTERM. Call it before any other thread is started.
///
/// # Errors
/// The handlers could not be installed.
pub(crate) fn on_first(act: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    thread::Builder::new().name("signals".into()).spawn(move || {
        let mut act = Some(act);
        for _ in signals.forever() {
            match act.take() {
                Some(act) => act(),
                None => low_level::exit(i32::from(ExitCode::Interrupted.code())),
            }
        }
    })?;
    Ok(())
}
