//! The order in which a chain visits its tasks.

use serde::Serialize;

/// The flag that takes a chain out of the order in which it was built.
#[derive(Clone, Copy, Debug, clap::Args, Serialize)]
pub struct Order {
    /// Let the chain visit its tasks in an order that is not the one of their creation: tasks and
    /// links that follow each other are then no neighbours in memory. The same seed gives the same
    /// order [default: one after the other]
    #[arg(long, value_name = "SEED", allow_negative_numbers = true)]
    pub shuffle: Option<u64>,
}

impl Order {
    /// The place in the chain of each task, in the order in which they are created; `None` where
    /// the one created first is the first one in the chain, and so on.
    pub fn places(self, tasks: u32) -> Option<Vec<u32>> {
        let mut random = fastrand::Rng::with_seed(self.shuffle?);
        let mut places: Vec<u32> = (0..tasks).collect();
        random.shuffle(&mut places);
        Some(places)
    }

    /// Puts what was created in that order into the order of the chain. What is missing at the end
    /// was not created.
    pub fn in_chain<T>(self, tasks: u32, created: Vec<T>) -> Vec<T> {
        let Some(places) = self.places(tasks) else {
            return created;
        };
        let mut placed: Vec<(u32, T)> = places.into_iter().zip(created).collect();
        placed.sort_unstable_by_key(|(place, _)| *place);
        placed.into_iter().map(|(_, task)| task).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_each_task_a_place_of_its_own() {
        let places = |seed| Order { shuffle: seed }.places(1000);
        assert_eq!(places(None), None);
        let shuffled = places(Some(7)).unwrap();
        assert_eq!(places(Some(7)).unwrap(), shuffled);
        assert_ne!(places(Some(8)).unwrap(), shuffled);
        assert!(!shuffled.is_sorted());
        let mut sorted = shuffled;
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..1000));
        assert_eq!(Order { shuffle: Some(1) }.places(0), Some(Vec::new()));
    }

    #[test]
    fn what_was_created_in_any_order_is_told_in_that_of_the_chain() {
        for shuffle in [None, Some(7)] {
            let order = Order { shuffle };
            let created = order.places(100).unwrap_or((0..100).collect());
            assert!(order.in_chain(100, created.clone()).into_iter().eq(0..100));
            // Half-way, no more were created.
            let half = order.in_chain(100, created[..50].to_vec());
            assert!(half.len() == 50 && half.is_sorted());
        }
    }
}
