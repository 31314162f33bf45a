//! Tokio's oneshot channel, a new one for each hop.
//!
//! A oneshot carries one token, and the next token takes another oneshot, of which both sides need an
//! end. So each token carries the receiver of the next one, and its sender keeps the other end.

use std::future;
use std::mem;

use tokio::sync::oneshot::{self, channel};

use super::{Gone, Link, Put, Take};

/// `tokio::sync::oneshot`: a hop makes one, sends, and drops one.
#[derive(Debug)]
pub struct Oneshot;

/// End that the next token goes into.
#[derive(Debug)]
pub struct Sender<M>(oneshot::Sender<Parcel<M>>);

/// End that the next token comes out of.
#[derive(Debug)]
pub struct Receiver<M>(oneshot::Receiver<Parcel<M>>);

#[derive(Debug)]
struct Parcel<M> {
    token: M,
    next: oneshot::Receiver<Parcel<M>>,
}

impl<M: Send + 'static> Link<M> for Oneshot {
    type Sender = Sender<M>;
    type Receiver = Receiver<M>;

    fn link(_: u32) -> (Sender<M>, Receiver<M>) {
        let (sender, receiver) = channel();
        (Sender(sender), Receiver(receiver))
    }
}

impl<M: Send + 'static> Put<M> for Sender<M> {
    type Lost = Gone;

    fn put(&mut self, token: M) -> impl Future<Output = Result<(), Gone>> {
        let (sender, next) = channel();
        let this = mem::replace(&mut self.0, sender);
        future::ready(this.send(Parcel { token, next }).map_err(|_| Gone))
    }
}

impl<M: Send + 'static> Take<M> for Receiver<M> {
    async fn take(&mut self) -> Option<M> {
        let parcel = (&mut self.0).await.ok()?;
        self.0 = parcel.next;
        Some(parcel.token)
    }
}

/// Each parcel that nobody takes holds the next one. They are taken out one by one: dropping the first
/// with all the others in it would take as many stack frames.
impl<M> Drop for Receiver<M> {
    fn drop(&mut self) {
        self.0.close();
        while let Ok(parcel) = self.0.try_recv() {
            self.0 = parcel.next;
            self.0.close();
        }
    }
}
