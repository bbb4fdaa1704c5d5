//! Answers counted by their exact status. Counting an ordinary one allocates nothing.

use std::collections::BTreeMap;

/// Statuses below this are counted in a table, others (possible on ZAP only) in a map.
const TABLE: usize = 1000;

/// The counts.
#[derive(Debug, Clone)]
pub(crate) struct Statuses {
    table: Vec<u64>,
    odd: BTreeMap<u16, u64>,
}

impl Default for Statuses {
    fn default() -> Self {
        Statuses { table: vec![0; TABLE], odd: BTreeMap::new() }
    }
}

impl Statuses {
    #[inline]
    pub(crate) fn add(&mut self, status: u16) {
        match self.table.get_mut(usize::from(status)) {
            Some(count) => *count += 1,
            None => *self.odd.entry(status).or_default() += 1,
        }
    }

    pub(crate) fn merge(&mut self, other: Statuses) {
        for (ours, theirs) in self.table.iter_mut().zip(other.table) {
            *ours += theirs;
        }
        for (status, count) in other.odd {
            *self.odd.entry(status).or_default() += count;
        }
    }

    /// Those that were counted.
    pub(crate) fn counts(&self) -> BTreeMap<u16, u64> {
        let table = self.table.iter().enumerate().filter(|(_, count)| **count > 0);
        let mut counts: BTreeMap<u16, u64> = table.map(|(status, count)| (status as u16, *count)).collect();
        counts.extend(&self.odd);
        counts
    }
}
