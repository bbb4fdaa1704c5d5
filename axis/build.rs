//! Puts the compiler's version and the build's settings into the program, so that a result says what it was built by and for.

use std::{env, process::Command};

fn main() {
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let version = Command::new(rustc).arg("--version").output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    println!("cargo::rustc-env=AXIS_RUSTC={version}");
    for (name, variable) in
        [("AXIS_TARGET", "TARGET"), ("AXIS_OPT_LEVEL", "OPT_LEVEL"), ("AXIS_FEATURES", "CARGO_CFG_TARGET_FEATURE")]
    {
        println!("cargo::rustc-env={name}={}", env::var(variable).unwrap_or_default());
    }
    println!("cargo::rerun-if-changed=build.rs");
}
