//! std's bounded channel.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::{Link, Put, Take, ended};

/// `std::sync::mpsc::sync_channel`; without room a sender waits until its token is taken.
#[derive(Debug)]
pub(crate) struct Mpsc;

impl<M: Send + 'static> Link<M> for Mpsc {
    type Sender = SyncSender<M>;
    type Receiver = Receiver<M>;

    fn link(capacity: u32) -> (Self::Sender, Self::Receiver) {
        sync_channel(capacity as usize)
    }
}

impl<M: Send + 'static> Put<M> for SyncSender<M> {
    fn put(&mut self, token: M) -> io::Result<()> {
        SyncSender::send(self, token).map_err(|_| ended())
    }
}

impl<M: Send + 'static> Take<M> for Receiver<M> {
    fn take(&mut self) -> Option<M> {
        self.recv().ok()
    }
}
