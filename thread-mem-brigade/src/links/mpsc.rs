//! std's bounded channel.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use harness::link_ended;

use super::{Link, Put, Take};

/// `std::sync::mpsc::sync_channel` with room for one number.
#[derive(Debug)]
pub(crate) struct Mpsc;

impl Link for Mpsc {
    type Sender = SyncSender<usize>;
    type Receiver = Receiver<usize>;

    fn link() -> (Self::Sender, Self::Receiver) {
        sync_channel(1)
    }
}

impl Put for SyncSender<usize> {
    fn put(&mut self, number: usize) -> io::Result<()> {
        SyncSender::send(self, number).map_err(link_ended)
    }
}

impl Take for Receiver<usize> {
    fn take(&mut self) -> Option<usize> {
        self.recv().ok()
    }
}
