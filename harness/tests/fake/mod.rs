//! The stand-in executable, and the folder in which its processes leave their traces.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use harness::{CoreLayout, Rig, Target};
use results::{CoreRow, Outcome, Output, Run, ServerBlock};

/// A rig over the stand-in. Every run of it is a thousand good requests over two loader threads.
pub(crate) struct Stage {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) rig: Rig,
}

impl Stage {
    /// What goes wrong on which side; `ok` for nothing.
    pub(crate) fn new(server_mode: &str, loader_mode: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let exe = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake/zapring.sh");
        let targets = vec![Target::new("http", "/health"), Target::new("zap", "/health")];
        let mut rig = Rig::new(exe, targets, CoreLayout::split(&"0-3".parse().expect("a valid list")));
        rig.duration = Duration::from_millis(200);
        rig.warmup = Duration::ZERO;
        rig.ready_wait = Duration::from_secs(5);
        let args = |mode: &str| {
            let folder = folder.path().to_string_lossy().into_owned();
            vec!["--fake".to_owned(), mode.to_owned(), "--folder".to_owned(), folder]
        };
        rig.server_args = args(server_mode);
        rig.loader_args = args(loader_mode);
        let stage = Self { folder, rig };
        stage.write_run("run.json", 3000);
        stage
    }

    /// Puts a result there whose sides took so long per request.
    pub(crate) fn write_run(&self, name: &str, cpu_ns: u64) {
        let mut run = Run { elapsed_ns: 200_000_000, ..Run::default() };
        (run.requests.planned, run.requests.sent) = (1000, 1000);
        run.requests.add(Outcome::Ok, 1000);
        run.config.connections = 8;
        run.cores = vec![CoreRow { connections: 4, ..CoreRow::default() }; 2];
        run.loader.cpu_ns = 1000 * cpu_ns;
        run.server = Some(ServerBlock { cpu_ns: 1000 * cpu_ns, ..ServerBlock::default() });
        run.conclude();
        Output::open(&self.folder.path().join(name)).expect("opens").write(&run).expect("writes");
    }

    /// The lines of a trace: `calls` or `pids`.
    pub(crate) fn lines(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.folder.path().join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Every process that was started is gone. Killed grandchildren are reaped by init, which takes a moment.
    pub(crate) fn assert_nothing_left(&self) {
        let pids = self.lines("pids");
        assert!(!pids.is_empty(), "nothing was started");
        let deadline = Instant::now() + Duration::from_secs(5);
        for pid in pids {
            while is_running(&pid) {
                assert!(Instant::now() < deadline, "process {pid} is left");
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

fn is_running(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}
