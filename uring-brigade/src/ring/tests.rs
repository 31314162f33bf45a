//! The executor and its ring, on rings that are far too small.

use std::fs::File;
use std::future::poll_fn;
use std::io::{ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::task::Poll;

use chain::Transport;
use io_uring::IoUring;

use super::{Ring, Token, yield_now};
use crate::setup::poller;

const TRANSPORTS: [Transport; 2] = [Transport::Pipe, Transport::Socketpair];

/// Runs a test on each kind of ring that this system has, with a submission queue of two entries
/// and a completion queue of four.
fn on_rings<T: Token>(test: impl Fn(&Ring<T>, Transport)) {
    for transport in TRANSPORTS {
        for polled in [false, true] {
            let mut builder = IoUring::builder();
            match polled {
                true => builder.setup_sqpoll(10).setup_sqpoll_cpu(poller().unwrap().0),
                false => builder.setup_single_issuer().setup_defer_taskrun(),
            };
            match builder.setup_cqsize(4).build(2) {
                Ok(io) => test(&Ring::new(io), transport),
                Err(e) => skip(&e.into()),
            }
        }
    }
}

fn skip(why: &anyhow::Error) {
    let _ = writeln!(std::io::stderr(), "skipped: no such ring: {why:#}");
}

fn link(transport: Transport) -> (OwnedFd, File) {
    let (reader, writer) = transport.descriptors().unwrap();
    (reader, writer.into())
}

#[test]
fn no_completion_is_lost_where_many_find_no_room() {
    const ENDS: u8 = 100;
    const BYTES: u8 = 50;
    on_rings(|ring: &Ring<[u8; 1]>, transport| {
        let mut writers = Vec::new();
        let mut tasks = Vec::new();
        for _ in 0..ENDS {
            let (reader, writer) = link(transport);
            let mut reader = ring.reader(reader);
            tasks.push(ring.spawn(async move {
                let mut bytes = Vec::new();
                let mut token = [0];
                while reader.read(&mut token).await? {
                    bytes.push(token[0]);
                }
                Ok(bytes)
            }));
            writers.push(writer);
        }
        let all: Vec<u8> = (0..BYTES).collect();
        ring.block_on(async {
            // All of them read now, and all complete together.
            yield_now().await;
            for mut writer in writers {
                writer.write_all(&all).unwrap();
            }
            for task in tasks {
                assert_eq!(task.await.unwrap(), all);
            }
        })
        .unwrap();
    });
}

/// Polls a future once, and drops it.
async fn begin(future: impl Future) {
    let mut future = Box::pin(future);
    poll_fn(|cx| {
        assert!(future.as_mut().poll(cx).is_pending());
        Poll::Ready(())
    })
    .await;
}

/// Larger than a link holds.
const LARGE: usize = 300_000;

fn large() -> Box<[u8]> {
    (0..LARGE).map(|i| (i % 251) as u8).collect()
}

#[test]
fn a_token_larger_than_a_link_comes_and_goes_in_parts() {
    for size in [2, 4096, LARGE] {
        on_rings(|ring: &Ring<Box<[u8]>>, transport| {
            let (reader, writer) = link(transport);
            let mut reader = ring.reader(reader);
            let mut writer = ring.writer(OwnedFd::from(writer));
            let sender = ring.spawn(async move {
                let mut token = large()[..size].into();
                for _ in 0..3 {
                    writer.write(&mut token).await?;
                }
                Ok(token)
            });
            ring.block_on(async {
                let mut token = vec![0; size].into_boxed_slice();
                for _ in 0..3 {
                    token.fill(0);
                    assert!(reader.read(&mut token).await.unwrap());
                    assert!(*token == large()[..size], "{size}");
                }
                let sent = sender.await.unwrap();
                assert!(*sent == large()[..size], "it is given back as it was");
                assert!(!reader.read(&mut token).await.unwrap(), "the end");
                assert_eq!(token.len(), size);
            })
            .unwrap();
        });
    }
}

#[test]
fn an_end_in_the_middle_of_a_token_is_an_error() {
    on_rings(|ring: &Ring<Box<[u8]>>, transport| {
        let (reader, mut writer) = link(transport);
        let mut reader = ring.reader(reader);
        ring.block_on(async {
            writer.write_all(&[1; 8 + 5]).unwrap();
            drop(writer);
            let mut token = vec![0; 8].into_boxed_slice();
            assert!(reader.read(&mut token).await.unwrap());
            let error = reader.read(&mut token).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        })
        .unwrap();
    });
}

/// The kernel keeps the file of an operation open.
#[test]
fn an_end_that_is_dropped_in_mid_read_closes_its_link() {
    on_rings(|ring: &Ring<[u8; 1]>, transport| {
        let (reader, mut writer) = link(transport);
        let mut reader = ring.reader(reader);
        ring.block_on(async {
            begin(reader.read(&mut [0])).await;
            drop(reader);
            // Another end, so that there is something to wait for while the read is cancelled.
            let (other, mut nudge) = link(transport);
            let mut other = ring.reader(other);
            for _ in 0..100 {
                nudge.write_all(&[1]).unwrap();
                let mut token = [0];
                assert!(other.read(&mut token).await.unwrap());
                assert_eq!(token, [1]);
                if writer.write_all(&[1]).is_err() {
                    return;
                }
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            panic!("the link is still open");
        })
        .unwrap();
    });
}

#[test]
fn a_task_that_panics_or_fails_says_so_and_the_others_go_on() {
    on_rings(|ring: &Ring<[u8; 1]>, _| {
        let panics = ring.spawn(async { panic!("out of luck") as anyhow::Result<()> });
        let fails = ring.spawn(async { anyhow::bail!("no more") as anyhow::Result<()> });
        let fine = ring.spawn(async {
            yield_now().await;
            Ok(3)
        });
        ring.block_on(async {
            let told = format!("{:#}", panics.await.unwrap_err());
            assert!(told.contains("out of luck"), "{told}");
            assert_eq!(fails.await.unwrap_err().to_string(), "no more");
            assert_eq!(fine.await.unwrap(), 3);
        })
        .unwrap();
    });
}
