//! A child that asked for it ends when its parent is killed. Three processes: the test, a parent, its child; all this executable.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use harness::{DieWithParentError, die_with_parent};

/// Which part this process plays; absent in the test itself.
const ROLE: &str = "ZAPRING_TEST_ROLE";

fn play(role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this test has a file"));
    command.args(["--exact", "part", "--nocapture"]).env(ROLE, role).stdin(Stdio::null());
    command
}

/// The test harness starts every process with this as its only test.
#[test]
fn part() {
    let Ok(role) = std::env::var(ROLE) else { return };
    if role == "parent" {
        let own_pid = std::process::id().to_string();
        let mut child = play(&own_pid).spawn().expect("this executable starts");
        child.wait().expect("it is our child");
        return;
    }
    match die_with_parent(role.parse().expect("the role of the child is its parent's pid")) {
        Ok(()) => println!("\nbound {}", std::process::id()),
        Err(error @ DieWithParentError::ParentGone { .. }) => println!("\nrefused {error}"),
        Err(error) => println!("\nfailed {error}"),
    }
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn the_child_ends_with_its_killed_parent() {
    let mut parent = play("parent").stdout(Stdio::piped()).spawn().expect("this executable starts");
    let output = BufReader::new(parent.stdout.take().expect("it was asked to be a pipe"));
    let pid = output.lines().map_while(Result::ok).find_map(|line| line.strip_prefix("bound ").map(str::to_owned));
    let pid = pid.expect("the child said that it is bound");
    assert!(fs::exists(format!("/proc/{pid}")).expect("readable"));
    parent.kill().expect("it is our child");
    parent.wait().expect("it is our child");
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        if stat.is_empty() || stat.contains(") Z ") || stat.contains(") X ") {
            break;
        }
        assert!(Instant::now() < deadline, "the child outlived its parent");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_wrong_parent_is_refused() {
    let mut child = play("1").stdout(Stdio::piped()).spawn().expect("this executable starts");
    let output = BufReader::new(child.stdout.take().expect("it was asked to be a pipe"));
    let line = output.lines().map_while(Result::ok).find(|line| line.starts_with("refused "));
    child.kill().expect("it is our child");
    child.wait().expect("it is our child");
    assert!(line.expect("the child refused").contains("the parent 1 is gone"));
}
