//! One thing that is timed: an operation of one codec on one message, done any number of times.

/// What a case is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// The message or pair of messages, as in `rpc` or `echo-tiny request`.
    pub message: String,
    /// What is done with it: `decode`, `encode`, `round trip` or `handler`.
    pub operation: &'static str,
    /// Whose bytes they are: `zap`, `http`, or the crate of a JSON library.
    pub codec: &'static str,
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}/{}", self.message, self.operation, self.codec)
    }
}

/// A case. Doing it gives a sum that every field goes into, so that none is skipped.
pub struct Case {
    /// What it is.
    pub name: Name,
    /// Bytes that one operation reads or writes.
    pub bytes: u64,
    /// The sum of one operation that does everything right.
    want: u64,
    work: Box<dyn FnMut(u64) -> u64>,
}

impl Case {
    /// A case that does `once` and must get `want` from it.
    pub fn new(name: Name, bytes: usize, want: u64, mut once: impl FnMut() -> u64 + 'static) -> Self {
        // The loop is compiled together with what it repeats: one indirect call per batch.
        let work = Box::new(move |times| (0..times).fold(0_u64, |sum, _| sum.wrapping_add(once())));
        Self { name, bytes: bytes as u64, want, work }
    }

    /// Does it so many times.
    ///
    /// # Panics
    /// When it did not get what it must get each time: then what was timed is not the work.
    pub fn run(&mut self, times: u64) {
        let sum = (self.work)(times);
        assert_eq!(sum, self.want.wrapping_mul(times), "{} reads what was not written", self.name);
    }
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Case").field("name", &self.name).field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

/// A number that a field's length and first byte go into.
#[inline(always)]
pub(crate) fn fold(field: &[u8]) -> u64 {
    field.len() as u64 ^ u64::from(field.first().copied().unwrap_or(0)) << 32
}
