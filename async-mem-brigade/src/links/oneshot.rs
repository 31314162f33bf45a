//! Tokio's oneshot channel, a new one for each hop: each token carries the receiver of the next one, and
//! its sender keeps the other end.

use std::future;
use std::mem;

use tokio::sync::oneshot;

use super::{Receiver, Sender};

/// End that the next token comes out of.
pub struct OneshotReceiver<M>(oneshot::Receiver<Parcel<M>>);

/// End that the next token goes into.
pub struct OneshotSender<M>(oneshot::Sender<Parcel<M>>);

struct Parcel<M> {
    token: M,
    next: oneshot::Receiver<Parcel<M>>,
}

impl<M: Send + 'static> Receiver for OneshotReceiver<M> {
    type Token = M;
    type Sender = OneshotSender<M>;

    fn link(_: u32) -> (Self, OneshotSender<M>) {
        let (sender, receiver) = oneshot::channel();
        (OneshotReceiver(receiver), OneshotSender(sender))
    }

    async fn take(&mut self) -> Option<M> {
        let parcel = (&mut self.0).await.ok()?;
        self.0 = parcel.next;
        Some(parcel.token)
    }
}

impl<M: Send + 'static> Sender<M> for OneshotSender<M> {
    fn put(&mut self, token: M) -> impl Future<Output = Result<(), impl Send>> {
        let (sender, next) = oneshot::channel();
        let this = mem::replace(&mut self.0, sender);
        future::ready(this.send(Parcel { token, next }))
    }
}

/// Each parcel that nobody takes holds the next one. They are taken out one by one: dropping the first
/// with all the others in it would take as many stack frames.
impl<M> Drop for OneshotReceiver<M> {
    fn drop(&mut self) {
        self.0.close();
        while let Ok(parcel) = self.0.try_recv() {
            self.0 = parcel.next;
            self.0.close();
        }
    }
}
