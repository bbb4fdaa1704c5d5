//! Which target of the engine's plan stands for which connection: the index carries both the connection and the address, so that
//! the end of a connect names the one that asked for it.

use engine::Address;

/// Connections of the largest shard, times addresses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Route {
    lanes: usize,
    addresses: usize,
}

impl Route {
    pub(crate) fn new(lanes: usize, addresses: usize) -> Self {
        Route { lanes: lanes.max(1), addresses: addresses.max(1) }
    }

    /// The engine's targets.
    pub(crate) fn targets(self, addresses: &[Address]) -> Vec<Address> {
        addresses.iter().flat_map(|address| std::iter::repeat_n(address.clone(), self.lanes)).collect()
    }

    /// The target of a connection at an address.
    pub(crate) fn target(self, lane: usize, address: usize) -> usize {
        address * self.lanes + lane
    }

    /// The connection that asked for a target.
    pub(crate) fn lane(self, target: usize) -> usize {
        target % self.lanes
    }

    /// The address behind the given one.
    pub(crate) fn next_address(self, address: usize) -> usize {
        (address + 1) % self.addresses
    }

    /// How many addresses there are.
    pub(crate) fn addresses(self) -> usize {
        self.addresses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_name_connection_and_address() {
        let addresses: Vec<Address> = ["a", "b", "c"].map(|path| Address::Unix(path.into())).into();
        let route = Route::new(4, addresses.len());
        let targets = route.targets(&addresses);
        assert_eq!(targets.len(), 12);
        for lane in 0..4 {
            for (address, want) in addresses.iter().enumerate() {
                let target = route.target(lane, address);
                assert_eq!((route.lane(target), &targets[target]), (lane, want));
            }
        }
        assert_eq!((route.next_address(0), route.next_address(2)), (1, 0));
    }
}
