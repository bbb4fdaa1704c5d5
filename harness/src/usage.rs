//! What a process, with those it started, and its cores cost over a window: CPU time, busy cores, memory, context switches, and what quotas took. Samples `/proc` twice and subtracts.
//!
//! Thread times are what the scheduler charged; the busy share of a core is whatever ran there, interrupts included. Waiting for I/O is
//! never busy: an idle ring is accounted as such.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use procfs::process::{Schedstat, Stat};
use procfs::{FromRead as _, ProcError};
use results::{CoreBusy, ServerBlock, Throttling};

use crate::family;
use crate::host::HostFiles;
use crate::threads::ThreadStates;
use crate::throttling::{self, throttling};

/// Why a process or its cores could not be watched.
#[derive(Debug, thiserror::Error)]
pub enum UsageError {
    /// No such process, or it ended while watched.
    #[error("process {pid} is not there: it has ended, or belongs to another PID namespace")]
    NoProcess {
        /// The process.
        pid: u32,
    },
    /// A file of the tree could not be read.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file does not have the form the kernel documents.
    #[error("{path} is not as proc(5) describes it: {reason}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A core that has no row.
    #[error("core {core} has no row in {path}: it is offline")]
    NoCore {
        /// The core.
        core: u32,
        /// The file.
        path: PathBuf,
    },
}

/// CPU time of each live thread of a process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ThreadTimes {
    /// Thread id to nanoseconds on a CPU since the thread began.
    pub cpu_ns: BTreeMap<u32, u64>,
}

impl ThreadTimes {
    /// CPU time between two samples. A thread that began in between counts from zero; the last part of one that ended is lost.
    #[must_use]
    pub fn since(&self, start: &Self) -> u64 {
        self.since_of(start, |_| true)
    }

    /// The same, of threads that are asked for.
    fn since_of(&self, start: &Self, wanted: impl Fn(u32) -> bool) -> u64 {
        let since = |(thread, end_ns): (&u32, &u64)| end_ns.saturating_sub(*start.cpu_ns.get(thread).unwrap_or(&0));
        self.cpu_ns.iter().filter(|(thread, _)| wanted(**thread)).map(since).sum()
    }
}

/// A core's counters, in clock ticks since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CoreTicks {
    /// idle + iowait. Where the timer stops on an idle core (`CONFIG_NO_HZ`), the kernel takes these from the clock at every sleep and
    /// wake-up; user and system time are what the timer happens to meet, which a loop that is paced can evade, or seem to be for ever.
    pub waiting: u64,
    /// irq + softirq.
    pub interrupts: u64,
    /// Whether interrupts are accounted apart from the time of threads (`CONFIG_IRQ_TIME_ACCOUNTING`), or may run on other cores than
    /// what causes them.
    pub interrupts_apart: bool,
    /// Time given to other guests.
    pub steal: u64,
}

impl CoreTicks {
    /// The difference of two samples as time, without that of any process: busy is what was neither waited nor stolen. Counters that ran
    /// backwards count as zero.
    #[must_use]
    pub fn since(&self, start: &Self, core: u32, window_ns: u64, tick_ns: u64) -> CoreBusy {
        let time = |end: u64, start: u64| end.saturating_sub(start).saturating_mul(tick_ns);
        let steal_ns = time(self.steal, start.steal);
        CoreBusy {
            core,
            window_ns,
            busy_ns: window_ns.saturating_sub(time(self.waiting, start.waiting)).saturating_sub(steal_ns),
            steal_ns,
            interrupt_ns: Some(time(self.interrupts, start.interrupts)),
            interrupts_apart: Some(self.interrupts_apart),
            own_ns: None,
        }
    }
}

/// Resident memory of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Memory {
    /// Now.
    pub rss_bytes: u64,
    /// Most ever, or since the mark was last reset.
    pub peak_bytes: u64,
}

impl Memory {
    /// Adds that of another process; pages that both have count twice.
    fn add(&mut self, other: Self) {
        self.rss_bytes = self.rss_bytes.saturating_add(other.rss_bytes);
        self.peak_bytes = self.peak_bytes.saturating_add(other.peak_bytes);
    }
}

/// One look at a process and some cores.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sample {
    /// Its threads.
    pub threads: ThreadTimes,
    /// Where they may run, and their context switches.
    pub states: ThreadStates,
    /// What quotas took so far.
    pub throttling: Option<Throttling>,
    /// The cores asked for.
    pub cores: BTreeMap<u32, CoreTicks>,
    /// Its memory.
    pub memory: Memory,
}

impl Sample {
    /// Looks at process `pid`, the processes it has started and these have, and at `cores`.
    ///
    /// # Errors
    /// [`UsageError`] naming the process, core or file.
    pub fn take(files: &HostFiles, pid: u32, cores: &[u32]) -> Result<Self, UsageError> {
        let (mut memory, throttling) = (memory(files, pid)?, throttling(files, pid));
        let family = family::of(files, pid);
        for child in &family {
            memory.add(family::memory(files, *child));
        }
        // Times last and side by side: they are compared with each other.
        let cores = core_ticks(files, cores)?;
        let mut threads = thread_times(files, pid, tick_ns())?;
        let mut states = ThreadStates::read(files, pid, threads.cpu_ns.keys().copied());
        // One of them may end meanwhile; what it took until then is lost, as with a thread.
        for (child, times) in
            family.into_iter().filter_map(|child| Some((child, thread_times(files, child, tick_ns()).ok()?)))
        {
            states.extend(ThreadStates::read(files, child, times.cpu_ns.keys().copied()));
            threads.cpu_ns.extend(times.cpu_ns);
        }
        Ok(Self { threads, states, throttling, cores, memory })
    }

    /// The cost between two samples `window_ns` apart, without the per-request figures.
    #[must_use]
    pub fn since(&self, start: &Self, pid: u32, window_ns: u64, tick_ns: u64) -> ServerBlock {
        let core_busy = |(core, end): (&u32, &CoreTicks)| {
            let ticks = start.cores.get(core).copied().unwrap_or_default();
            let own_ns = self.threads.since_of(&start.threads, |thread| self.states.may_run_on(thread, *core));
            let here_ns = self.threads.since_of(&start.threads, |thread| self.states.runs_only_on(thread, *core));
            let mut busy = CoreBusy { own_ns: Some(own_ns), ..end.since(&ticks, *core, window_ns, tick_ns) };
            busy.ran_at_least(here_ns);
            busy
        };
        ServerBlock {
            pid,
            window_ns,
            cpu_ns: self.threads.since(&start.threads),
            core_busy: self.cores.iter().map(core_busy).collect(),
            rss_start_bytes: start.memory.rss_bytes,
            rss_end_bytes: self.memory.rss_bytes,
            // The kernel batches its counters per CPU: the mark can lag behind the current value.
            rss_peak_bytes: self.memory.peak_bytes.max(self.memory.rss_bytes).max(start.memory.rss_bytes),
            context_switches: self.states.switches_since(&start.states),
            throttling: throttling::since(start.throttling, self.throttling),
            ..ServerBlock::default()
        }
    }
}

/// A window being watched.
#[derive(Debug)]
pub struct Watch {
    files: HostFiles,
    pid: u32,
    cores: Vec<u32>,
    start: Sample,
    started: Instant,
}

impl Watch {
    /// Begins a window over process `pid` and `cores` of this host. Resets the process's memory mark where the kernel allows it.
    ///
    /// # Errors
    /// [`UsageError`] naming the process, core or file.
    pub fn start(pid: u32, cores: &[u32]) -> Result<Self, UsageError> {
        Self::start_at(HostFiles::live(), pid, cores)
    }

    /// The same over other trees.
    ///
    /// # Errors
    /// As [`Watch::start`].
    pub fn start_at(files: HostFiles, pid: u32, cores: &[u32]) -> Result<Self, UsageError> {
        reset_peak(&files, pid);
        let start = Sample::take(&files, pid, cores)?;
        Ok(Self { files, pid, cores: cores.to_vec(), start, started: Instant::now() })
    }

    /// Ends the window. Per-request figures are left null: fill them with [`ServerBlock::per_request`].
    ///
    /// # Errors
    /// [`UsageError`]; [`UsageError::NoProcess`] when it ended meanwhile.
    pub fn stop(self) -> Result<ServerBlock, UsageError> {
        let window_ns = u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let end = Sample::take(&self.files, self.pid, &self.cores)?;
        Ok(end.since(&self.start, self.pid, window_ns, tick_ns()))
    }
}

/// Length of a clock tick of `/proc/stat`.
#[must_use]
pub fn tick_ns() -> u64 {
    1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)
}

/// CPU time of the live threads of `pid`: `schedstat` where the kernel keeps it, else user and system ticks.
///
/// # Errors
/// [`UsageError`] when the process is not there.
pub fn thread_times(files: &HostFiles, pid: u32, tick_ns: u64) -> Result<ThreadTimes, UsageError> {
    let folder = files.proc_path(format!("{pid}/task"));
    let entries = fs::read_dir(&folder).map_err(|source| process_error(source, pid, &folder))?;
    let mut times = ThreadTimes::default();
    for entry in entries {
        let path = entry.map_err(|source| process_error(source, pid, &folder))?.path();
        let thread = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse::<u32>().ok());
        let Some(thread) = thread else { continue };
        // A thread may end between listing and reading.
        if let Some(cpu_ns) = thread_time(&path, tick_ns)? {
            times.cpu_ns.insert(thread, cpu_ns);
        }
    }
    if times.cpu_ns.is_empty() {
        return Err(UsageError::NoProcess { pid });
    }
    Ok(times)
}

fn thread_time(folder: &Path, tick_ns: u64) -> Result<Option<u64>, UsageError> {
    // Zero also means a kernel that does not keep the figure; ticks then say the same or more.
    let schedstat = optional(Schedstat::from_file(folder.join("schedstat")), &folder.join("schedstat"))?;
    if let Some(schedstat) = schedstat.filter(|schedstat| schedstat.sum_exec_runtime > 0) {
        return Ok(Some(schedstat.sum_exec_runtime));
    }
    let stat = optional(Stat::from_file(folder.join("stat")), &folder.join("stat"))?;
    Ok(stat.map(|stat| (stat.utime + stat.stime).saturating_mul(tick_ns)))
}

/// `None` for a file that is not there, as of a thread that has ended or a kernel without it.
fn optional<T>(parsed: Result<T, ProcError>, path: &Path) -> Result<Option<T>, UsageError> {
    match parsed {
        Ok(value) => Ok(Some(value)),
        Err(ProcError::NotFound(_)) => Ok(None),
        Err(ProcError::Io(source, _)) if is_gone(&source) => Ok(None),
        Err(ProcError::Io(source, _)) => Err(UsageError::Unreadable { path: path.to_path_buf(), source }),
        Err(other) => Err(UsageError::Malformed { path: path.to_path_buf(), reason: other.to_string() }),
    }
}

/// `ESRCH` is what a read of an opened `/proc` file gives after its thread has ended.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
}

fn process_error(source: io::Error, pid: u32, path: &Path) -> UsageError {
    if is_gone(&source) {
        UsageError::NoProcess { pid }
    } else {
        UsageError::Unreadable { path: path.to_path_buf(), source }
    }
}

/// Counters of the cores asked for. Read by name: rows of offline cores are missing, so a row's position says nothing.
///
/// # Errors
/// [`UsageError::NoCore`] for a core without a row.
pub fn core_ticks(files: &HostFiles, cores: &[u32]) -> Result<BTreeMap<u32, CoreTicks>, UsageError> {
    let path = files.proc_path("stat");
    let text = fs::read_to_string(&path).map_err(|source| UsageError::Unreadable { path: path.clone(), source })?;
    let mut rows: BTreeMap<u32, CoreTicks> = text.lines().filter_map(core_row).collect();
    if spreads_loopback(files) {
        rows.values_mut().for_each(|row| row.interrupts_apart = true);
    }
    cores
        .iter()
        .map(|core| match rows.get(core) {
            Some(ticks) => Ok((*core, *ticks)),
            None => Err(UsageError::NoCore { core: *core, path: path.clone() }),
        })
        .collect()
}

/// `cpu3 user nice system idle iowait irq softirq steal guest guest_nice` (proc(5)); guest time is contained in user and nice.
fn core_row(line: &str) -> Option<(u32, CoreTicks)> {
    let mut fields = line.split_ascii_whitespace();
    let core = fields.next()?.strip_prefix("cpu")?.parse().ok()?;
    let ticks: Vec<u64> = fields.map_while(|field| field.parse().ok()).collect();
    let at = |index: usize| ticks.get(index).copied().unwrap_or(0);
    let interrupts = at(5).saturating_add(at(6));
    let busy = [at(0), at(1), at(2), interrupts].into_iter().fold(0, u64::saturating_add);
    // Without that accounting a tick finds no hard interrupt but its own, so that irq stays at nothing for ever.
    let interrupts_apart = at(5) > busy / 10_000;
    let waiting = at(3).saturating_add(at(4));
    (ticks.len() >= 4).then(|| (core, CoreTicks { waiting, interrupts, interrupts_apart, steal: at(7) }))
}

/// Whether packets of loopback are handed to other cores: a mask other than zero in `rps_cpus`.
fn spreads_loopback(files: &HostFiles) -> bool {
    let mask = fs::read_to_string(files.sys_path("class/net/lo/queues/rx-0/rps_cpus")).unwrap_or_default();
    mask.chars().any(|digit| digit.is_ascii_hexdigit() && digit != '0')
}

/// `VmRSS` and `VmHWM` of a process; zero for one without memory of its own (a kernel thread, a zombie).
///
/// # Errors
/// [`UsageError`] when the process is not there.
pub fn memory(files: &HostFiles, pid: u32) -> Result<Memory, UsageError> {
    let path = files.proc_path(format!("{pid}/status"));
    let text = fs::read_to_string(&path).map_err(|source| process_error(source, pid, &path))?;
    let kibibytes = |key: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(key))?.trim().strip_suffix("kB")?;
        value.trim().parse::<u64>().ok()
    };
    let bytes = |key: &str| kibibytes(key).unwrap_or(0).saturating_mul(1024);
    Ok(Memory { rss_bytes: bytes("VmRSS:"), peak_bytes: bytes("VmHWM:") })
}

/// Writes 5 to `clear_refs`, which sets the peak to the current value (proc(5), since 4.0). Not allowed for processes of other users: the
/// peak then stays the one since the process began.
fn reset_peak(files: &HostFiles, pid: u32) {
    let _ = fs::OpenOptions::new()
        .write(true)
        .open(files.proc_path(format!("{pid}/clear_refs")))
        .and_then(|mut file| io::Write::write_all(&mut file, b"5"));
}
