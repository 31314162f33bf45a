//! The executor and its ring, on rings that are far too small.

use std::fs::File;
use std::future::{pending, poll_fn};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::task::Poll;

use harness::links::{Link, Mode, Transport};
use io_uring::IoUring;

use super::Ring;
use crate::executor::{Executor, Sink, Source, yield_now};
use crate::setup::Poller;

const TRANSPORTS: [Transport; 2] = [Transport::Pipe, Transport::Socketpair];

/// Runs a test on each kind of ring that this system has, with a submission queue of two entries
/// and a completion queue of four.
fn on_rings(test: impl Fn(&Ring, Transport)) {
    for transport in TRANSPORTS {
        for polled in [false, true] {
            for multishot in [None, Some(transport)] {
                let mut builder = IoUring::builder();
                match polled {
                    true => builder
                        .setup_sqpoll(10)
                        .setup_sqpoll_cpu(Poller::new().unwrap().cpu),
                    false => builder.setup_single_issuer().setup_defer_taskrun(),
                };
                let ring = builder.setup_cqsize(4).build(2);
                let ring = ring
                    .map_err(Into::into)
                    .and_then(|io| Ring::new(io, multishot));
                match ring {
                    Ok(ring) => test(&ring, transport),
                    Err(e) => skip(&e),
                }
            }
        }
    }
}

fn skip(why: &anyhow::Error) {
    let _ = writeln!(std::io::stderr(), "skipped: no such ring: {why:#}");
}

fn link(transport: Transport) -> (OwnedFd, File) {
    let Link { reader, writer } = transport.link(Mode::Blocking).unwrap();
    (reader, writer.into())
}

#[test]
fn no_completion_is_lost_where_many_find_no_room() {
    const ENDS: u8 = 100;
    const BYTES: u8 = 50;
    on_rings(|ring, transport| {
        let mut writers = Vec::new();
        let mut tasks = Vec::new();
        for _ in 0..ENDS {
            let (reader, writer) = link(transport);
            let mut reader = ring.reader(reader).unwrap();
            tasks.push(ring.spawn(async move {
                let mut bytes = Vec::new();
                while let Some(byte) = reader.read().await? {
                    bytes.push(byte);
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
        let waits = ring.waits().unwrap();
        assert!(waits.completions >= u64::from(ENDS), "{waits:?}");
        assert!(waits.enters > 0 && waits.enters <= waits.completions * 4);
    });
}

#[test]
fn what_is_written_comes_out_and_a_closed_link_is_an_error() {
    on_rings(|ring, transport| {
        let (reader, writer) = link(transport);
        let mut writer = ring.writer(writer.into()).unwrap();
        let mut reader = File::from(reader);
        ring.block_on(async {
            for byte in [7, 8, 9] {
                writer.write(byte).await.unwrap();
            }
            let mut bytes = [0; 3];
            reader.read_exact(&mut bytes).unwrap();
            assert_eq!(bytes, [7, 8, 9]);
            drop(reader);
            let error = writer.write(1).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::BrokenPipe);
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

#[test]
fn a_read_that_was_dropped_loses_nothing() {
    on_rings(|ring, transport| {
        let (reader, mut writer) = link(transport);
        let mut reader = ring.reader(reader).unwrap();
        ring.block_on(async {
            begin(reader.read()).await;
            writer.write_all(&[5, 6]).unwrap();
            assert_eq!(reader.read().await.unwrap(), Some(5));
            begin(async {
                reader.read().await.unwrap();
                pending::<()>().await;
            })
            .await;
            drop(writer);
        })
        .unwrap();
    });
}

/// The kernel keeps the file of an operation open.
#[test]
fn an_end_that_is_dropped_in_mid_read_closes_its_link() {
    on_rings(|ring, transport| {
        let (reader, mut writer) = link(transport);
        let mut reader = ring.reader(reader).unwrap();
        ring.block_on(async {
            begin(reader.read()).await;
            drop(reader);
            // Another end, so that there is something to wait for while the read is cancelled.
            let (other, mut nudge) = link(transport);
            let mut other = ring.reader(other).unwrap();
            for _ in 0..100 {
                nudge.write_all(&[1]).unwrap();
                assert_eq!(other.read().await.unwrap(), Some(1));
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
fn a_ring_can_go_while_operations_are_in_flight() {
    on_rings(|ring, transport| {
        let (reader, writer) = link(transport);
        let mut reader = ring.reader(reader).unwrap();
        let task = ring.spawn(async move { Ok(reader.read().await?) });
        ring.block_on(yield_now()).unwrap();
        drop(task);
        drop(writer);
    });
}

#[test]
fn a_task_that_panics_or_fails_says_so_and_the_others_go_on() {
    on_rings(|ring, _| {
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
