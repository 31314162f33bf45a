//! Tokio's oneshot channel, a new one for each hop.
//!
//! A oneshot carries one number, and the next number takes another oneshot, of which both sides
//! have to get an end. So each number carries the receiver of the next one, and its sender keeps
//! the other end: nothing else is shared, and no hop waits for the return of anything.

use std::future::{self, Future};
use std::mem;

use tokio::sync::oneshot::{self, channel};

use super::{Gone, Link, Put, Take};

/// `tokio::sync::oneshot`: a hop makes one, sends, and drops one.
pub(crate) struct Oneshot;

/// Where the next number goes in.
pub(crate) struct Sender(oneshot::Sender<Parcel>);

/// Where the next number comes out.
pub(crate) struct Receiver(oneshot::Receiver<Parcel>);

struct Parcel {
    number: usize,
    next: oneshot::Receiver<Parcel>,
}

impl Link for Oneshot {
    type Sender = Sender;
    type Receiver = Receiver;

    fn link(_: u32) -> (Sender, Receiver) {
        let (sender, receiver) = channel();
        (Sender(sender), Receiver(receiver))
    }
}

impl Put for Sender {
    type Lost = Gone;

    fn put(&mut self, number: usize) -> impl Future<Output = Result<(), Gone>> {
        let (sender, next) = channel();
        let this = mem::replace(&mut self.0, sender);
        future::ready(this.send(Parcel { number, next }).map_err(|_| Gone))
    }
}

impl Take for Receiver {
    async fn take(&mut self) -> Option<usize> {
        let parcel = (&mut self.0).await.ok()?;
        self.0 = parcel.next;
        Some(parcel.number)
    }
}

/// Each parcel that nobody takes holds the next one. They are taken out one by one: to drop the
/// first with all the others in it would take as many stack frames.
impl Drop for Receiver {
    fn drop(&mut self) {
        self.0.close();
        while let Ok(parcel) = self.0.try_recv() {
            self.0 = parcel.next;
            self.0.close();
        }
    }
}
