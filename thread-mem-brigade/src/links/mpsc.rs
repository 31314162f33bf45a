//! std's bounded channel.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use harness::link_ended;

use super::{Link, Put, Take};

/// `std::sync::mpsc::sync_channel`; without room a sender waits until its message is taken.
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
    fn put(&mut self, message: M) -> io::Result<()> {
        SyncSender::send(self, message).map_err(link_ended)
    }
}

impl<M: Send + 'static> Take<M> for Receiver<M> {
    fn take(&mut self) -> Option<M> {
        self.recv().ok()
    }
}
