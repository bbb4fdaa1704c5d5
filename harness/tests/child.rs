//! Children of every kind of bad manners: none outlives its owner, none blocks it.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::time::{Duration, Instant};

use harness::limits::{MAX_STDERR_BYTES, OUTPUT_WAIT};
use harness::{Child, ChildError, CommandLine};

fn shell(script: &str) -> Child {
    Child::start(&CommandLine::new("sh").args(["-c", script])).expect("every system has sh")
}

fn in_5_s() -> Instant {
    Instant::now() + Duration::from_secs(5)
}

fn wait_end(child: &mut Child) -> std::process::ExitStatus {
    let deadline = in_5_s();
    loop {
        if let Some(status) = child.poll().expect("it is our child") {
            return status;
        }
        assert!(Instant::now() < deadline, "{} does not end", child.command());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Gone, or a zombie that waits for init.
fn is_gone(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_none_or(|rest| matches!(rest.trim_start().chars().next(), None | Some('Z' | 'X')))
}

fn assert_goes(pid: u32) {
    let deadline = in_5_s();
    while !is_gone(pid) {
        assert!(Instant::now() < deadline, "process {pid} is left");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn output_and_status_are_there_at_the_end() {
    let mut child = shell("echo out; echo err >&2; exit 7");
    assert_eq!(wait_end(&mut child).code(), Some(7));
    assert_eq!(child.stdout().as_deref(), Some(&b"out\n"[..]));
    assert_eq!(child.stderr_tail(), "err");
}

#[test]
fn lines_are_seen_when_complete() {
    let mut child = shell("printf one; sleep 0.2; printf '\\ntwo\\n'; exec sleep 60");
    let seen = child.wait_lines(in_5_s(), |lines| (lines.len() == 2).then(|| lines.to_vec())).expect("it is our child");
    assert_eq!(seen, Some(vec!["one".to_owned(), "two".to_owned()]));
    let never = child.wait_lines(Instant::now() + Duration::from_millis(50), |_| None::<()>).expect("it is our child");
    assert_eq!(never, None);
}

#[test]
fn waiting_for_lines_ends_with_the_child() {
    let mut child = shell("echo only");
    let started = Instant::now();
    assert_eq!(child.wait_lines(in_5_s(), |_| None::<()>).expect("it is our child"), None);
    assert!(started.elapsed() < Duration::from_secs(4));
}

#[test]
fn a_flood_blocks_nobody_and_is_bounded() {
    let mut child = shell("head -c 20000000 /dev/zero; head -c 1000000 /dev/zero >&2; echo end >&2");
    assert!(wait_end(&mut child).success());
    assert_eq!(child.stdout(), None);
    let tail = child.stderr_tail();
    assert!(tail.ends_with("end") && tail.len() <= MAX_STDERR_BYTES);
}

#[test]
fn stop_asks_first_and_kills_then() {
    let mut polite = shell("trap 'exit 5' TERM; echo up; while :; do sleep 0.01; done");
    polite.wait_lines(in_5_s(), |lines| (!lines.is_empty()).then_some(())).expect("it is our child");
    assert_eq!(polite.stop(Duration::from_secs(5)).expect("it is our child").code(), Some(5));

    let mut deaf = shell("trap '' TERM; echo up; while :; do sleep 0.01; done");
    deaf.wait_lines(in_5_s(), |lines| (!lines.is_empty()).then_some(())).expect("it is our child");
    assert_eq!(deaf.stop(Duration::from_millis(100)).expect("it is our child").signal(), Some(9));
    assert_eq!(deaf.stop(Duration::ZERO).expect("its status is kept").signal(), Some(9));
}

#[test]
fn dropping_takes_the_whole_group() {
    let mut child = shell("trap '' TERM; sleep 60 & echo $!; wait");
    let line = child.wait_lines(in_5_s(), |lines| lines.first().cloned()).expect("it is our child");
    let grandchild: u32 = line.and_then(|line| line.parse().ok()).expect("the script printed a pid");
    let pid = child.pid();
    assert!(!is_gone(pid) && !is_gone(grandchild));
    drop(child);
    assert!(is_gone(pid));
    assert_goes(grandchild);
}

#[test]
fn what_an_ended_child_leaves_is_taken_too() {
    let mut child = shell("sleep 60 & echo $!");
    let started = Instant::now();
    assert!(wait_end(&mut child).success());
    assert!(started.elapsed() < OUTPUT_WAIT + Duration::from_secs(3));
    let output = child.stdout().expect("it is short");
    assert_goes(String::from_utf8_lossy(&output).trim().parse().expect("the script printed a pid"));
}

#[test]
fn a_missing_program_is_named() {
    let error = Child::start(&CommandLine::new("/nonexistent/x").arg("-a")).expect_err("no such program");
    assert!(matches!(error, ChildError::Start { .. }));
    assert!(error.to_string().starts_with("cannot start /nonexistent/x -a: No such file"), "{error}");
}
