//! Which task gets which ends of the links, whatever order they are made in.

use anyhow::Result;

use crate::order::Order;

/// Makes the N + 1 links of a chain and gives each task its two ends. Link k leads to the task in
/// place k, the last one back to the driver.
///
/// In the chain's own order a link is made when the next task is: a task and its link are then
/// neighbours in memory. In another order all links are made first, in that order.
#[derive(Debug)]
pub struct Wiring<R, W, F> {
    link: F,
    tasks: u32,
    wires: Wires<R, W>,
}

#[derive(Debug)]
enum Wires<R, W> {
    InOrder {
        first: W,
        upstream: R,
        next: u32,
    },
    Shuffled {
        /// The ends of each link that are still to be had.
        readers: Vec<Option<R>>,
        writers: Vec<Option<W>>,
        /// What is left of them, the next one last.
        places: Vec<u32>,
    },
}

/// What a task is given.
#[derive(Debug)]
pub struct Post<R, W> {
    /// Its place in the chain, from 0.
    pub place: u32,
    /// The end that it reads from.
    pub upstream: R,
    /// The end that it writes to.
    pub downstream: W,
}

impl<R, W, F: FnMut(u32) -> Result<(R, W)>> Wiring<R, W, F> {
    /// A chain of so many tasks. `link(k)` makes the link to the task in place k: the end to read
    /// from, and the end to write to.
    ///
    /// # Errors
    /// What `link` reports.
    pub fn new(order: Order, tasks: u32, mut link: F) -> Result<Self> {
        let wires = match order.places(tasks) {
            None => {
                let (upstream, first) = link(0)?;
                Wires::InOrder {
                    first,
                    upstream,
                    next: 0,
                }
            }
            Some(mut places) => {
                let mut readers: Vec<Option<R>> = (0..=tasks).map(|_| None).collect();
                let mut writers: Vec<Option<W>> = (0..=tasks).map(|_| None).collect();
                for &place in places.iter().chain([&tasks]) {
                    let (reader, writer) = link(place)?;
                    readers[place as usize] = Some(reader);
                    writers[place as usize] = Some(writer);
                }
                places.reverse();
                Wires::Shuffled {
                    readers,
                    writers,
                    places,
                }
            }
        };
        Ok(Wiring { link, tasks, wires })
    }

    /// What the next task to be created is given; `None` after the last one.
    ///
    /// # Errors
    /// What `link` reports.
    pub fn next_task(&mut self) -> Option<Result<Post<R, W>>> {
        match &mut self.wires {
            Wires::InOrder { upstream, next, .. } => {
                let place = *next;
                if place == self.tasks {
                    return None;
                }
                *next += 1;
                Some((self.link)(*next).map(|(reader, downstream)| Post {
                    place,
                    upstream: std::mem::replace(upstream, reader),
                    downstream,
                }))
            }
            Wires::Shuffled {
                readers,
                writers,
                places,
            } => {
                let place = places.pop()?;
                let upstream = readers[place as usize].take();
                let downstream = writers[place as usize + 1].take();
                let (upstream, downstream) = upstream.zip(downstream)?;
                Some(Ok(Post {
                    place,
                    upstream,
                    downstream,
                }))
            }
        }
    }

    /// The driver's ends, when every task has its own: the one to write to, and the one to read
    /// from.
    ///
    /// # Panics
    /// When the last task's are still to be taken.
    pub fn ends(self) -> (W, R) {
        match self.wires {
            Wires::InOrder {
                first,
                upstream,
                next,
            } => {
                assert_eq!(next, self.tasks, "some tasks are still to be created");
                (first, upstream)
            }
            Wires::Shuffled {
                mut readers,
                mut writers,
                ..
            } => {
                let last = readers.pop().flatten();
                let first = writers.swap_remove(0);
                first
                    .zip(last)
                    .expect("no task takes the driver's ends of the links")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;

    /// The places of the tasks in the order of their creation, and those of the links.
    fn wire(order: Order, tasks: u32) -> (Vec<u32>, Vec<u32>) {
        let mut made = Vec::new();
        let mut wiring = Wiring::new(order, tasks, |k| {
            made.push(k);
            Ok((k, k))
        })
        .unwrap();
        let mut places = Vec::new();
        while let Some(post) = wiring.next_task() {
            let post = post.unwrap();
            assert_eq!(
                (post.upstream, post.downstream),
                (post.place, post.place + 1)
            );
            places.push(post.place);
        }
        assert_eq!(wiring.ends(), (0, tasks));
        (places, made)
    }

    #[test]
    fn in_order_each_link_is_made_with_its_task() {
        let (places, links) = wire(Order { shuffle: None }, 5);
        assert_eq!(places, [0, 1, 2, 3, 4]);
        assert_eq!(links, [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn shuffled_links_and_tasks_are_made_in_the_same_order() {
        for tasks in [1, 2, 100] {
            let order = Order { shuffle: Some(3) };
            let (places, mut links) = wire(order, tasks);
            assert_eq!(Some(&places), order.places(tasks).as_ref());
            assert_eq!(links.pop(), Some(tasks), "the driver's");
            assert_eq!(links, places);
        }
    }

    #[test]
    fn a_link_that_cannot_be_made_is_an_error() {
        for shuffle in [None, Some(1)] {
            let order = Order { shuffle };
            let mut wiring = Wiring::new(order, 2, |k| match k {
                2 => bail!("no more"),
                _ => Ok((k, k)),
            });
            let mut failed = wiring.is_err();
            if let Ok(wiring) = &mut wiring {
                while let Some(post) = wiring.next_task() {
                    failed |= post.is_err();
                }
            }
            assert!(failed, "{shuffle:?}");
        }
    }
}
