//! The first so many entries in order, whatever the order they are found in.

use std::borrow::Borrow;
use std::collections::BTreeMap;

/// Keeps entries with the smallest keys until their weights reach what is needed.
#[derive(Debug)]
pub(crate) struct Ledger<K, V> {
    needed: usize,
    weight: usize,
    kept: BTreeMap<K, (usize, V)>,
}

impl<K: Ord, V> Ledger<K, V> {
    /// Keeps entries until their weights add up to `needed`.
    pub(crate) fn new(needed: usize) -> Self {
        Self { needed, weight: 0, kept: BTreeMap::new() }
    }

    /// Whether an entry with this key could not be among the first any more.
    pub(crate) fn is_beyond<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        let is_last = self.kept.last_key_value().is_none_or(|(last, _)| last.borrow() < key);
        self.weight >= self.needed && is_last
    }

    /// Takes an entry, and drops those at the end that it makes superfluous.
    pub(crate) fn add(&mut self, key: K, weight: usize, value: V) {
        if self.is_beyond(&key) {
            return;
        }
        self.weight += weight;
        self.kept.insert(key, (weight, value));
        while let Some(last) = self.kept.last_entry() {
            let lighter = self.weight - last.get().0;
            if lighter < self.needed {
                break;
            }
            last.remove();
            self.weight = lighter;
        }
    }

    /// The entries, in order.
    pub(crate) fn into_entries(self) -> impl Iterator<Item = (K, V)> {
        self.kept.into_iter().map(|(key, (_, value))| (key, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_ones_are_kept_in_whatever_order_they_come() {
        let weights = [(1, 2), (2, 1), (3, 4), (4, 1), (5, 1)];
        for needed in 0..10 {
            let mut expected = Vec::new();
            let mut sum = 0;
            for (key, weight) in weights {
                if sum < needed {
                    expected.push(key);
                    sum += weight;
                }
            }
            for turn in 0..weights.len() {
                let mut order = weights;
                order.rotate_left(turn);
                for order in [order.to_vec(), order.into_iter().rev().collect()] {
                    let mut ledger = Ledger::new(needed);
                    for (key, weight) in order {
                        ledger.add(key, weight, ());
                    }
                    let kept: Vec<_> = ledger.into_entries().map(|(key, ())| key).collect();
                    assert_eq!(kept, expected, "needed {needed}, turned by {turn}");
                }
            }
        }
    }
}
