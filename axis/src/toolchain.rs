//! What this program was built by and for.

use results::Toolchain;

/// The record of it.
#[must_use]
pub fn toolchain() -> Toolchain {
    let words = |text: &str| text.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect();
    Toolchain {
        rustc: env!("AXIS_RUSTC").to_owned(),
        target: env!("AXIS_TARGET").to_owned(),
        opt_level: env!("AXIS_OPT_LEVEL").to_owned(),
        target_features: words(env!("AXIS_FEATURES")),
        debug_assertions: cfg!(debug_assertions),
    }
}
