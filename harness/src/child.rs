//! One child process from start to end: its output captured, its end awaited, and nothing of it left behind.
//!
//! Children get a process group of their own, so that Ctrl-C reaches the parent alone and the parent decides who ends first. The
//! counterpart for a parent that dies is [`crate::parent::die_with_parent`], which the child calls itself.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use crate::captured::{Captured, Keep};
use crate::limits::{MAX_STDERR_BYTES, MAX_STDOUT_BYTES, OUTPUT_WAIT, POLL};

/// A program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// The executable; a bare name is looked up in `PATH`.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
}

impl CommandLine {
    /// A program without arguments yet.
    #[must_use]
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), args: Vec::new() }
    }

    /// Appends one argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Appends several.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Program and arguments as text, for the record.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let program = self.program.as_os_str();
        std::iter::once(program)
            .chain(self.args.iter().map(OsString::as_os_str))
            .map(|word| word.to_string_lossy().into_owned())
            .collect()
    }
}

/// Words separated by blanks, not quoted: for messages, not for a shell.
impl fmt::Display for CommandLine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.words().join(" "))
    }
}

/// Why a child could not be started or waited for.
#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    /// The program did not start.
    #[error("cannot start {command}: {source}")]
    Start {
        /// The command line.
        command: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The kernel would not tell about it.
    #[error("cannot wait for {command}: {source}")]
    Wait {
        /// The command line.
        command: String,
        /// The system's reason.
        source: io::Error,
    },
}

/// A started child. Dropping it kills it and everything left in its process group, and waits for it.
#[derive(Debug)]
pub struct Child {
    command: String,
    process: std::process::Child,
    status: Option<ExitStatus>,
    stdout: Captured,
    stderr: Captured,
}

impl Child {
    /// Starts a program with an empty standard input and captured output.
    ///
    /// # Errors
    /// [`ChildError::Start`] naming the command line.
    pub fn start(command: &CommandLine) -> Result<Self, ChildError> {
        let failed = |source| ChildError::Start { command: command.to_string(), source };
        let mut process = Command::new(&command.program)
            .args(&command.args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let stdout = process.stdout.take().expect("stdout was asked to be a pipe");
        let stderr = process.stderr.take().expect("stderr was asked to be a pipe");
        Ok(Self {
            command: command.to_string(),
            process,
            status: None,
            stdout: Captured::of(stdout, MAX_STDOUT_BYTES, Keep::First),
            stderr: Captured::of(stderr, MAX_STDERR_BYTES, Keep::Last),
        })
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Its command line, for messages.
    #[must_use]
    pub fn command(&self) -> &str {
        &self.command
    }

    /// What it has printed so far, up to a bound; `None` when it printed more than that.
    #[must_use]
    pub fn stdout(&self) -> Option<Vec<u8>> {
        (!self.stdout.overflowed()).then(|| self.stdout.bytes())
    }

    /// The end of what it wrote to standard error so far.
    #[must_use]
    pub fn stderr_tail(&self) -> String {
        self.stderr.text().trim_end().to_owned()
    }

    /// Its status if it has ended. Then the rest of its output is awaited, at most [`OUTPUT_WAIT`], and what is left of its process
    /// group is killed.
    ///
    /// # Errors
    /// [`ChildError::Wait`].
    pub fn poll(&mut self) -> Result<Option<ExitStatus>, ChildError> {
        if self.status.is_some() {
            return Ok(self.status);
        }
        if self.has_ended()? {
            self.reap()?;
        }
        Ok(self.status)
    }

    /// Waits for complete lines on its standard output until `found` makes something of them, the child ends, or `deadline`.
    /// `found` gets all lines so far each time; `None` means that it never did.
    ///
    /// # Errors
    /// [`ChildError::Wait`].
    pub fn wait_lines<T>(
        &mut self,
        deadline: Instant,
        mut found: impl FnMut(&[String]) -> Option<T>,
    ) -> Result<Option<T>, ChildError> {
        loop {
            // Looked at before the output: what an ended child printed is then all there.
            let ended = self.poll()?.is_some();
            let text = self.stdout.text();
            let complete = text.rfind('\n').map_or("", |end| &text[..end]);
            let lines: Vec<String> = complete.lines().map(str::to_owned).collect();
            if let Some(value) = found(&lines) {
                return Ok(Some(value));
            }
            let now = Instant::now();
            if ended || now >= deadline {
                return Ok(None);
            }
            self.stdout.wait_change(self.stdout.bytes().len(), deadline.min(now + POLL));
        }
    }

    /// Asks it to end (SIGTERM), waits up to `grace`, then kills it (SIGKILL) with its process group. Always waits for the end.
    ///
    /// # Errors
    /// [`ChildError::Wait`].
    pub fn stop(&mut self, grace: Duration) -> Result<ExitStatus, ChildError> {
        let deadline = Instant::now() + grace;
        if self.poll()?.is_none() {
            self.signal(Signal::TERM);
        }
        loop {
            if let Some(status) = self.poll()? {
                return Ok(status);
            }
            if Instant::now() >= deadline {
                break;
            }
            std::thread::sleep(POLL);
        }
        self.kill()
    }

    /// Kills it (SIGKILL) with its process group and waits for the end.
    ///
    /// # Errors
    /// [`ChildError::Wait`].
    pub fn kill(&mut self) -> Result<ExitStatus, ChildError> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        self.kill_group();
        self.reap()
    }

    /// Whether it has ended, without reaping it: until it is reaped, its process id and group stay its own.
    fn has_ended(&self) -> Result<bool, ChildError> {
        let Some(pid) = self.as_pid() else { return Ok(false) };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match rustix::process::waitid(WaitId::Pid(pid), options) {
            Ok(status) => Ok(status.is_some()),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(ChildError::Wait { command: self.command.clone(), source: error.into() }),
        }
    }

    fn reap(&mut self) -> Result<ExitStatus, ChildError> {
        if !self.has_ended()? {
            // Killed but not dead yet: the group was signalled by the caller.
            self.wait_dead()?;
        }
        self.kill_group();
        let status =
            self.process.wait().map_err(|source| ChildError::Wait { command: self.command.clone(), source })?;
        self.status = Some(status);
        let deadline = Instant::now() + OUTPUT_WAIT;
        self.stdout.wait_end(deadline);
        self.stderr.wait_end(deadline);
        Ok(status)
    }

    fn wait_dead(&self) -> Result<(), ChildError> {
        while !self.has_ended()? {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.as_pid() {
            // Not reaped, so the id is still its own; it may have ended, which is what is wanted.
            let _ = rustix::process::kill_process(pid, signal);
        }
    }

    fn kill_group(&self) {
        if let Some(pid) = self.as_pid() {
            let _ = rustix::process::kill_process_group(pid, Signal::KILL);
        }
    }

    fn as_pid(&self) -> Option<Pid> {
        i32::try_from(self.process.id()).ok().and_then(Pid::from_raw)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // Nothing can be reported from here; `kill` fails only when the process is not our child any more.
        let _ = self.kill();
    }
}

/// How a process ended, in words: `exit 3` or `signal 9`.
#[must_use]
pub fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "an unknown status".to_owned(),
    }
}
