//! The tokens of an iteration over links in memory, and who feeds them into the chain.

use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use clap::ValueEnum;
use serde::Serialize;

use crate::BadUsage;
use crate::limits::{Demand, Need};
use crate::message::Message;
use crate::payload::{Pattern, Payload};

/// The flag for who feeds the tokens in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Feed {
    /// the driver: it puts all of them into the first link before it takes them from the last one,
    /// so that the links have to hold them
    #[default]
    Driver,
    /// the first task: the driver sends it one and takes all from the last link, while it passes on
    /// that one and the others, which it has in stock. With --tasks 1 that is a stream from one
    /// producer to one consumer over one link, of whatever capacity
    FirstTask,
}

impl Feed {
    /// How many hops an iteration has.
    pub fn hops(self, tasks: u32, tokens: u32) -> u64 {
        let (tasks, tokens) = (u64::from(tasks), u64::from(tokens));
        match self {
            Feed::Driver => (tasks + 1) * tokens,
            Feed::FirstTask => tasks * tokens + 1,
        }
    }

    /// Checks that `tokens` find room in the links of a chain, which hold `most`: a driver that feeds
    /// them all in takes none back meanwhile.
    ///
    /// # Errors
    /// A [`BadUsage`] error that names the largest `--tokens` that fits, and `roomier`, what else to
    /// do.
    pub fn check_room(self, tokens: u32, most: u64, roomier: &str) -> anyhow::Result<()> {
        if self == Feed::FirstTask || u64::from(tokens) <= most {
            return Ok(());
        }
        Err(BadUsage::new(format!(
            "--tokens {tokens} is more than the links hold (at most {most}): lower it, {roomier}, or use --feed first-task"
        )))
    }

    /// What it needs of the system, beside the tokens: the stock, and what is being taken from it.
    pub fn demand(self, tokens: u32) -> Demand {
        let bytes = u64::from(tokens) * 2 * size_of::<Box<[u8]>>() as u64;
        let need = match self {
            Feed::Driver => Need::NONE,
            Feed::FirstTask => Need {
                memory: bytes,
                address_space: bytes,
                largest_map: bytes / 2,
                ..Need::NONE
            },
        };
        Demand::always("--tokens", need)
    }

    /// Where the first task of a chain has its tokens from, if it feeds them in.
    pub fn stock<M>(self) -> Option<Stock<M>> {
        (self == Feed::FirstTask).then(Stock::default)
    }
}

/// The tokens of an iteration, as the driver has them.
#[derive(Debug)]
pub struct Tokens<M> {
    all: Vec<M>,
    pattern: Pattern,
    stock: Option<Stock<M>>,
}

impl<M: Message> Tokens<M> {
    /// Makes them.
    pub fn new(tokens: u32, payload: Payload, stock: Option<Stock<M>>) -> Self {
        Tokens {
            all: (0..tokens).map(|_| M::new(payload)).collect(),
            pattern: Pattern::new(payload),
            stock,
        }
    }

    /// Makes them ready for a lap, the `k`th with the number `lap + k`. Returns how many of them the
    /// driver is to send itself, and all: those that it sends, and room for what comes out. The
    /// others are in stock.
    pub fn set_out(&mut self, lap: u64) -> (usize, &mut [M]) {
        for (k, token) in self.all.iter_mut().enumerate() {
            token.set_out(lap as usize + k, &self.pattern);
        }
        let sent = match &self.stock {
            None => self.all.len(),
            Some(stock) => {
                stock.fill(&mut self.all);
                1
            }
        };
        (sent, &mut self.all)
    }

    /// Checks what came out of a chain of `tasks` tasks in a lap.
    ///
    /// # Errors
    /// Says which token is wrong.
    pub fn verify(&self, lap: u64, tasks: u32) -> anyhow::Result<()> {
        let mut tokens = self.all.iter().enumerate();
        tokens.try_for_each(|(k, token)| token.verify(k, lap as usize + k, tasks, &self.pattern))
    }
}

/// The tokens that the first task passes on after the one that it was sent. The driver fills it up
/// before each iteration.
#[derive(Debug)]
pub struct Stock<M>(Arc<Mutex<Vec<M>>>);

impl<M> Stock<M> {
    /// Takes all that is there, the last one first, and leaves an empty vector.
    pub fn take(&self, into: &mut Vec<M>) {
        mem::swap(
            into,
            &mut self.0.lock().unwrap_or_else(PoisonError::into_inner),
        );
    }
}

impl<M: Default> Stock<M> {
    /// Puts in all tokens but the first one.
    pub fn fill(&self, tokens: &mut [M]) {
        let mut stock = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stock.extend(tokens.iter_mut().skip(1).rev().map(mem::take));
    }
}

impl<M> Default for Stock<M> {
    fn default() -> Self {
        Stock(Arc::default())
    }
}

impl<M> Clone for Stock<M> {
    fn clone(&self) -> Self {
        Stock(Arc::clone(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    #[test]
    fn the_start_of_a_stream_is_one_hop() {
        assert_eq!(Feed::Driver.hops(3, 10), 40);
        assert_eq!(Feed::FirstTask.hops(3, 10), 31);
        for tasks in [1, 7] {
            let hops = [Feed::Driver, Feed::FirstTask].map(|feed| feed.hops(tasks, 1));
            assert_eq!(hops, [u64::from(tasks) + 1; 2]);
        }
    }

    #[test]
    fn only_a_driver_that_feeds_all_in_needs_room_for_them() {
        assert!(Feed::Driver.check_room(4, 4, "raise --tasks").is_ok());
        assert!(Feed::FirstTask.check_room(5, 4, "raise --tasks").is_ok());
        let error = Feed::Driver.check_room(5, 4, "raise --tasks").unwrap_err();
        let error = error.to_string();
        for words in ["--tokens 5", "at most 4", "raise --tasks", "--feed"] {
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn a_driver_sends_what_is_not_in_stock() {
        let payload = Payload { bytes: Bytes(1) };
        let mut tokens = Tokens::<usize>::new(3, payload, None);
        assert_eq!(tokens.set_out(5), (3, &mut [5, 6, 7][..]));
        let stock = Stock::default();
        let mut tokens = Tokens::<usize>::new(3, payload, Some(stock.clone()));
        let (sent, all) = tokens.set_out(5);
        assert_eq!((sent, &*all), (1, &[5, 0, 0][..]));
        let mut others = Vec::new();
        stock.take(&mut others);
        assert_eq!(others, [7, 6]);
        all.copy_from_slice(&[7, 8, 9]);
        assert!(tokens.verify(5, 2).is_ok() && tokens.verify(5, 3).is_err());
    }

    #[test]
    fn what_is_in_stock_comes_out_in_order_after_the_first() {
        let stock = Feed::FirstTask.stock().unwrap();
        assert!(Feed::Driver.stock::<u32>().is_none());
        let mut mine = Vec::new();
        for _ in 0..2 {
            let mut tokens = vec![1, 2, 3];
            stock.fill(&mut tokens);
            assert_eq!(tokens, [1, 0, 0]);
            stock.clone().take(&mut mine);
            assert_eq!(
                (mine.pop(), mine.pop(), mine.pop()),
                (Some(2), Some(3), None)
            );
        }
    }
}
