//! Sets `ZAPRING_VERSION`: the version, and the commit behind a `+` where the sources are a git checkout or the variable `ZAPRING_COMMIT` names it.

use std::{env, path::Path, process::Command};

fn main() {
    println!("cargo::rerun-if-env-changed=ZAPRING_COMMIT");
    let version = env::var("CARGO_PKG_VERSION").expect("cargo sets it");
    let named = env::var("ZAPRING_COMMIT").ok().filter(|commit| !commit.is_empty());
    let commit = named.or_else(described).map_or_else(String::new, |commit| format!("+{commit}"));
    println!("cargo::rustc-env=ZAPRING_VERSION={version}{commit}");
}

/// The commit of this checkout; `None` without git, or where the sources lie in someone else's repository.
fn described() -> Option<String> {
    let root = Path::new(&env::var_os("CARGO_MANIFEST_DIR")?).parent()?.to_path_buf();
    if !root.join(".git").exists() {
        return None;
    }
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(&root).args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    // A commit and a change of branch touch these.
    for file in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", file]).map(|path| root.join(path));
        if let Some(path) = path.filter(|path| path.exists()) {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    // Whoever changes a source wants to be told so. What else changes is not in the program.
    println!("cargo::rerun-if-changed=build.rs");
    for member in ["codec", "engine", "server", "loader", "tune", "results", "harness", "zapring"] {
        println!("cargo::rerun-if-changed={}", root.join(member).join("src").display());
    }
    git(&["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"])
}
