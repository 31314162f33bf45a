//! Tokio's oneshot channel, a new one for each hop: each token carries the receiver of the next one, and
//! its sender keeps the other end.

use std::future;
use std::mem;

use tokio::sync::oneshot;

use super::{Receiver, Sender};

/// End that the next token comes out of.
pub struct OneshotReceiver(oneshot::Receiver<Parcel>);

/// End that the next token goes into.
pub struct OneshotSender(oneshot::Sender<Parcel>);

struct Parcel {
    token: usize,
    next: oneshot::Receiver<Parcel>,
}

impl Receiver for OneshotReceiver {
    type Sender = OneshotSender;

    fn link(_: u32) -> (Self, OneshotSender) {
        let (sender, receiver) = oneshot::channel();
        (OneshotReceiver(receiver), OneshotSender(sender))
    }

    async fn take(&mut self) -> Option<usize> {
        let parcel = (&mut self.0).await.ok()?;
        self.0 = parcel.next;
        Some(parcel.token)
    }
}

impl Sender for OneshotSender {
    fn put(&mut self, token: usize) -> impl Future<Output = Result<(), impl Send>> {
        let (sender, next) = oneshot::channel();
        let this = mem::replace(&mut self.0, sender);
        future::ready(this.send(Parcel { token, next }))
    }
}

/// Each parcel that nobody takes holds the next one. They are taken out one by one: dropping the first
/// with all the others in it would take as many stack frames.
impl Drop for OneshotReceiver {
    fn drop(&mut self) {
        self.0.close();
        while let Ok(parcel) = self.0.try_recv() {
            self.0 = parcel.next;
            self.0.close();
        }
    }
}
