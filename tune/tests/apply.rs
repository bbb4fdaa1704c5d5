//! Apply, undo, restore over built trees, with a driver in memory: what is written, when it is undone, what a journal remembers.

mod fake;
#[path = "../../testing/host_tree.rs"]
mod host_tree;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use fake::Fake;
use host_tree::{HostTree, NicLook};
use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};
use tune::journal::{Journal, JournalState, StepState};
use tune::netlink::{Amount, NetlinkError, Offload};
use tune::plan::Rings;
use tune::restore::Restored;
use tune::{ApplyError, Host, Journals, Knob, Request, RestoreError, Roots, Stamp, apply, restore, state};

struct Bench {
    tree: HostTree,
    roots: Roots,
    netlink: Fake,
    journals: Journals,
}

impl Bench {
    /// Four CPUs, one device with one queue, rings of 256 of 4096.
    fn new() -> Self {
        let tree = HostTree::new(4);
        tree.nic(&NicLook::device("eth0", 1));
        tree.policy(0, "0 1 2 3", "schedutil");
        let netlink = Fake::default();
        netlink.device("eth0", |device| {
            device.ring_rx = Some(Amount { now: 256, max: 4096 });
            device.gro = Some(Offload { on: false, changeable: true });
        });
        let (roots, journals) = (tree.roots(), Journals::at(tree.folder().join("journals")));
        Self { tree, roots, netlink, journals }
    }

    fn request(&self) -> Request {
        Request { nic: Some("eth0".to_owned()), rings: Rings::Max, ..Request::new(vec![0, 1, 2, 3]) }
    }

    fn host(&self) -> Host<'_> {
        Host::new(&self.roots, &self.netlink)
    }

    fn apply(&self, request: &Request) -> Result<Option<Journal>, ApplyError> {
        let stamp = Stamp { version: "0.0.0", unix_ns: 1_796_000_000_000_000_000 };
        apply(&self.host(), &self.journals, request, stamp, &AtomicBool::new(false)).map(|applied| applied.journal)
    }

    fn restore(&self, force: bool) -> Vec<Restored> {
        restore(&self.host(), &self.journals, None, force).expect("the journals are fine")
    }

    /// Everything that was built and can be set, as text.
    fn settings(&self) -> String {
        let mut texts =
            vec![format!("{:?} {:?}", self.netlink.value("eth0", Knob::RingRx), self.netlink.value("eth0", Knob::Gro))];
        for root in [self.tree.proc_root(), self.tree.sys_root()] {
            let mut folders = vec![root];
            while let Some(folder) = folders.pop() {
                for entry in fs::read_dir(folder).expect("a folder").flatten() {
                    let path = entry.path();
                    if path.is_dir() {
                        folders.push(path);
                    } else {
                        texts.push(format!("{} {:?}", path.display(), fs::read_to_string(&path).expect("text")));
                    }
                }
            }
        }
        texts.sort();
        texts.join("\n")
    }
}

#[test]
fn what_is_applied_is_restored_to_the_byte() {
    let bench = Bench::new();
    let before = bench.settings();
    let journal = bench.apply(&bench.request()).expect("nothing refuses").expect("there was something to do");
    assert_eq!(journal.state, JournalState::Applied);
    assert!(journal.entries.iter().all(|entry| entry.state == StepState::Applied), "{:?}", journal.entries);
    assert!(journal.entries[0].setting.resets_link(), "what resets the device comes first");
    assert_eq!(bench.netlink.value("eth0", Knob::RingRx).as_deref(), Some("4096"));
    assert_eq!(bench.tree.read_sys("class/net/eth0/queues/rx-0/rps_cpus"), "e");
    assert_eq!(bench.tree.read_proc("sys/net/core/somaxconn"), "65535");
    assert_eq!(bench.tree.read_sys("devices/system/cpu/cpufreq/policy0/scaling_governor"), "performance");
    let recorded = state(&bench.roots, &bench.journals).expect("readable");
    assert_eq!((recorded.state.as_str(), recorded.journal.as_deref()), ("applied", Some(journal.id.as_str())));

    let restored = bench.restore(false);
    assert_eq!((restored.len(), restored[0].state), (1, JournalState::Restored));
    assert_eq!(restored[0].back as usize, journal.entries.len());
    assert_eq!(bench.settings(), before);
    assert_eq!(state(&bench.roots, &bench.journals).expect("readable").state, "untuned");
    assert_eq!(bench.restore(false), [], "once is enough");
}

#[test]
fn applied_twice_and_restored_once() {
    let bench = Bench::new();
    let before = bench.settings();
    bench.apply(&bench.request()).expect("nothing refuses").expect("something to do");
    assert_eq!(bench.apply(&bench.request()).expect("nothing refuses"), None, "nothing left to do");
    // Somebody changes a value, and it is applied once more: the original stays what it was.
    bench.tree.proc("sys/net/core/somaxconn", "777");
    let again = bench.apply(&bench.request()).expect("nothing refuses").expect("one value");
    let entry = &again.entries[0];
    assert_eq!((again.entries.len(), entry.old.as_str(), entry.found.as_deref()), (1, "4096", Some("777")));
    // And another profile over it.
    let latency = Request { profile: tune::Profile::Latency, ..bench.request() };
    let over = bench.apply(&latency).expect("nothing refuses").expect("other values");
    let gro = over.entries.iter().find(|entry| entry.what.ends_with("gro")).expect("latency wants it off");
    assert_eq!((gro.old.as_str(), gro.new.as_str()), ("off", "off"));
    assert_eq!(bench.restore(false).len(), 3);
    assert_eq!(bench.settings(), before);
}

#[test]
fn a_value_that_somebody_changed_is_theirs_unless_forced() {
    let bench = Bench::new();
    let before = bench.settings();
    bench.apply(&bench.request()).expect("nothing refuses");
    bench.tree.proc("sys/net/core/somaxconn", "777");
    let restored = bench.restore(false);
    assert_eq!(restored[0].state, JournalState::Dirty);
    let left = &restored[0].left;
    assert!(left.len() == 1 && left[0].what == "net.core.somaxconn" && left[0].why.contains("\"777\""), "{left:?}");
    assert_eq!(bench.tree.read_sys("class/net/eth0/queues/rx-0/rps_cpus"), "00000000", "all else is back");
    let refused = bench.apply(&bench.request()).expect_err("a dirty journal is open");
    assert!(matches!(refused, ApplyError::Open { state: JournalState::Dirty, .. }), "{refused}");
    assert_eq!(bench.restore(true)[0].state, JournalState::Restored);
    assert_eq!(bench.settings(), before);
}

#[test]
fn a_refused_write_undoes_everything() {
    let bench = Bench::new();
    let before = bench.settings();
    let governor = bench.tree.sys_root().join("devices/system/cpu/cpufreq/policy0/scaling_governor");
    let refused = {
        let Some(_read_only) = ReadOnly::of(&governor) else { return };
        bench.apply(&bench.request()).expect_err("the governor is the last and is not optional")
    };
    let ApplyError::Failed { what, left, path, .. } = &refused else { panic!("{refused}") };
    assert_eq!((what.as_str(), left.len()), ("cpufreq policy0 governor", 0));
    assert!(refused.to_string().contains("everything was undone"), "{refused}");
    assert_eq!(bench.settings(), before);
    let journals = bench.journals.all().expect("readable");
    assert_eq!(
        (journals.len(), journals[0].state, path),
        (1, JournalState::Undone, &bench.journals.path(&journals[0].id))
    );
    assert_eq!(bench.restore(false), [], "nothing is open");
}

#[test]
fn optional_settings_may_be_refused() {
    let bench = Bench::new();
    bench.netlink.device("eth0", |device| device.adaptive_rx = Some(false));
    bench.netlink.refuse(Knob::AdaptiveRx, NetlinkError::Unsupported { message: String::new() });
    bench.netlink.clamp(Knob::RingRx, 512);
    let somaxconn = bench.tree.proc_root().join("sys/net/core/somaxconn");
    let journal = {
        let Some(_read_only) = ReadOnly::of(&somaxconn) else { return };
        bench.apply(&bench.request()).expect("none of them is needed").expect("the others are done")
    };
    let state = |what: &str| &journal.entries.iter().find(|entry| entry.what == what).expect("planned").state;
    assert!(matches!(state("eth0 ethtool -C adaptive-rx"), StepState::Unsupported { .. }));
    let StepState::Refused { why } = state("eth0 ethtool -G rx") else { panic!("{journal:?}") };
    assert_eq!(why, "\"4096\" was written and it reads \"512\"");
    assert_eq!(bench.netlink.value("eth0", Knob::RingRx).as_deref(), Some("256"), "put back, not left clamped");
    assert!(matches!(state("net.core.somaxconn"), StepState::Refused { .. }));
    assert_eq!(state("eth0 rx-0 rps_cpus"), &StepState::Applied);
    assert_eq!(bench.restore(false)[0].state, JournalState::Restored);
}

#[test]
fn an_apply_that_was_cut_off_is_restored_from_its_journal() {
    for written in 0..=8 {
        let bench = Bench::new();
        let before = bench.settings();
        let mut journal = bench.apply(&bench.request()).expect("nothing refuses").expect("something to do");
        // As if it had ended after so many writes: the journal is on disk before the first of them.
        journal.state = JournalState::Applying;
        for (index, entry) in journal.entries.iter_mut().enumerate() {
            entry.state = StepState::Pending;
            if index >= written {
                bench.host().write(&entry.setting, &entry.old).expect("it was written before");
            }
        }
        bench.journals.write(&journal).expect("writable");
        let refused = bench.apply(&bench.request()).expect_err("half a journal is open");
        assert!(matches!(refused, ApplyError::Open { state: JournalState::Applying, .. }), "{refused}");
        let restored = bench.restore(false);
        assert_eq!(
            (restored[0].state, restored[0].back as usize),
            (JournalState::Restored, written.min(journal.entries.len()))
        );
        assert_eq!(bench.settings(), before, "after {written} writes");
    }
}

#[test]
fn a_reboot_ends_a_journal() {
    let bench = Bench::new();
    bench.apply(&bench.request()).expect("nothing refuses");
    let tuned = bench.settings();
    bench.tree.proc("sys/kernel/random/boot_id", "99999999-2222-3333-4444-555555555555");
    assert_eq!(state(&bench.roots, &bench.journals).expect("readable").state, "untuned");
    let restored = bench.restore(false);
    assert_eq!((restored[0].state, restored[0].back), (JournalState::Rebooted, 0));
    assert_eq!(bench.settings().replace("99999999", "11111111"), tuned, "nothing was written");
}

#[test]
fn another_interface_under_the_same_name_is_left_alone() {
    let bench = Bench::new();
    bench.apply(&bench.request()).expect("nothing refuses");
    bench.tree.sys("class/net/eth0/ifindex", "77");
    let restored = bench.restore(false);
    assert_eq!(restored[0].state, JournalState::Restored);
    assert!(restored[0].gone.iter().any(|what| what == "eth0 rx-0 rps_cpus"), "{restored:?}");
    assert_eq!(bench.tree.read_sys("class/net/eth0/queues/rx-0/rps_cpus"), "e");
    assert_eq!(bench.tree.read_proc("sys/net/core/somaxconn"), "4096");
}

#[test]
fn an_older_journal_is_not_restored_under_a_newer_one() {
    let bench = Bench::new();
    let first = bench.apply(&bench.request()).expect("nothing refuses").expect("something to do");
    bench.tree.proc("sys/net/core/somaxconn", "777");
    let second = bench.apply(&bench.request()).expect("nothing refuses").expect("one value");
    assert_ne!(first.id, second.id, "both were begun at the same moment");
    let error = restore(&bench.host(), &bench.journals, Some(&first.id), false).expect_err("the second lies over it");
    assert!(matches!(error, RestoreError::NotNewest { newer, .. } if newer == second.id));
    let error = restore(&bench.host(), &bench.journals, Some("nope"), false).expect_err("no such journal");
    assert!(error.to_string().contains("there is no journal nope"), "{error}");
}

#[test]
fn stopped_by_the_user() {
    let bench = Bench::new();
    let before = bench.settings();
    let stamp = Stamp { version: "0.0.0", unix_ns: 1 };
    let stopped = apply(&bench.host(), &bench.journals, &bench.request(), stamp, &AtomicBool::new(true));
    assert!(matches!(stopped.expect_err("at once"), ApplyError::Stopped { left, .. } if left.is_empty()));
    assert_eq!(bench.settings(), before);
}

#[test]
fn broken_and_newer_journals_are_named() {
    let bench = Bench::new();
    bench.apply(&bench.request()).expect("nothing refuses");
    let path = bench.journals.folder().join("tune-broken.json");
    fs::write(&path, "{").expect("writable");
    let error = restore(&bench.host(), &bench.journals, None, false).expect_err("who knows what is in it");
    assert!(error.to_string().contains("tune-broken.json"), "{error}");
    fs::write(&path, r#"{"schema":"zapring.tune_journal","schema_major":2,"schema_minor":0}"#).expect("writable");
    let error = bench.apply(&bench.request()).expect_err("a newer one");
    assert!(error.to_string().contains("use a newer zapring"), "{error}");
}

#[test]
fn journals_do_not_pile_up() {
    let bench = Bench::new();
    for _ in 0..tune::limits::MAX_JOURNALS + 3 {
        bench
            .apply(&Request { nic: None, cores: vec![0], ..bench.request() })
            .expect("nothing refuses")
            .expect("something");
        assert_eq!(bench.restore(false).len(), 1);
    }
    assert_eq!(bench.journals.all().expect("readable").len(), tune::limits::MAX_JOURNALS);
    let ids: std::collections::BTreeSet<String> =
        bench.journals.all().expect("readable").into_iter().map(|one| one.id).collect();
    assert_eq!(ids.len(), tune::limits::MAX_JOURNALS);
}

/// A file that takes no write, for as long as this lives. Nothing but the immutable flag keeps root from writing.
struct ReadOnly {
    file: fs::File,
    flags: IFlags,
}

impl ReadOnly {
    /// `None`, after saying so, where that cannot be done.
    fn of(path: &Path) -> Option<Self> {
        let file = fs::File::open(path).expect("it was built");
        if !rustix::process::geteuid().is_root() {
            file.set_permissions(fs::Permissions::from_mode(0o444)).expect("ours");
            return Some(Self { file, flags: IFlags::empty() });
        }
        let flags = ioctl_getflags(&file).unwrap_or(IFlags::empty());
        match ioctl_setflags(&file, flags | IFlags::IMMUTABLE) {
            Ok(()) => Some(Self { file, flags }),
            Err(errno) => {
                eprintln!("SKIPPED: the file system of {} has no immutable files: {errno}", path.display());
                None
            }
        }
    }
}

impl Drop for ReadOnly {
    fn drop(&mut self) {
        if rustix::process::geteuid().is_root() {
            ioctl_setflags(&self.file, self.flags).expect("ours");
        } else {
            self.file.set_permissions(fs::Permissions::from_mode(0o644)).expect("ours");
        }
    }
}
