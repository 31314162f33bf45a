//! The server: each request is answered by a body of its own, as fast as the connection takes it.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use anyhow::Context;
use bytes::Bytes;
use clap::ValueEnum;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use tokio::net::TcpListener;

use crate::content::{Content, Peak};
use crate::misdeed::{Kind, Misdeed};

/// How a body's end is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Framing {
    /// Transfer-Encoding: chunked, each piece of --chunk bytes a chunk of its own
    Chunked,
    /// Content-Length, the pieces one after the other
    ContentLength,
}

/// What the server sends.
#[derive(Debug)]
pub(crate) struct Offer {
    pub(crate) content: Content,
    pub(crate) framing: Framing,
    pub(crate) misdeed: Option<Misdeed>,
}

/// Serves until the listener fails, each connection in a task of its own.
///
/// # Errors
/// What accept(2) reports.
pub(crate) async fn serve(listener: TcpListener, offer: Arc<Offer>) -> anyhow::Result<Infallible> {
    loop {
        let (stream, _) = listener.accept().await.context("cannot accept")?;
        stream.set_nodelay(true)?;
        let offer = Arc::clone(&offer);
        tokio::spawn(async move {
            let service = service_fn(|request: Request<Incoming>| {
                let response = answer(&offer, request.uri().path());
                async { Ok::<_, Infallible>(response) }
            });
            let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            // What is wrong with it shows at its other end, where it is told.
            let _ = connection.await;
        });
    }
}

/// The response to a request for `/NUMBER`: that body.
fn answer(offer: &Arc<Offer>, path: &str) -> Response<Sent> {
    let number = path.strip_prefix('/').and_then(|text| text.parse().ok());
    let mut response = Response::new(match number {
        Some(number) => Sent::new(Arc::clone(offer), number),
        None => Sent::nothing(Arc::clone(offer)),
    });
    if number.is_none() {
        *response.status_mut() = StatusCode::NOT_FOUND;
    }
    response
}

/// A body on its way out.
#[derive(Debug)]
struct Sent {
    offer: Arc<Offer>,
    peak: Peak,
    offset: u64,
    end: u64,
    misdeed: Option<Kind>,
}

impl Sent {
    fn new(offer: Arc<Offer>, number: u64) -> Self {
        let outline = offer.content.outline();
        let misdeed = offer.misdeed.and_then(|misdeed| misdeed.at(number));
        let mut peak = outline.peak(number);
        if misdeed == Some(Kind::Wrong) {
            peak.value = 0;
        }
        let end = match misdeed {
            Some(Kind::Short) => outline.size / 2,
            _ => outline.size,
        };
        Sent {
            offer,
            peak,
            offset: 0,
            end,
            misdeed,
        }
    }

    fn nothing(offer: Arc<Offer>) -> Self {
        Sent {
            end: 0,
            ..Sent::new(offer, 0)
        }
    }
}

impl Body for Sent {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut TaskContext<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.offset >= self.end {
            return Poll::Ready(None);
        }
        if let Some(kind) = self.misdeed
            && self.offset >= self.end / 2
            && let Some(poll) = kind.happens()
        {
            return poll.map(|e| Some(Err(e)));
        }
        let mut piece = self.offer.content.piece(self.peak, self.offset);
        piece.truncate((self.end - self.offset) as usize);
        self.offset += piece.len() as u64;
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.offset >= self.end
    }

    fn size_hint(&self) -> SizeHint {
        match self.offer.framing {
            // Without one hyper sends chunks.
            Framing::Chunked => SizeHint::default(),
            Framing::ContentLength => SizeHint::with_exact(self.end - self.offset),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use tokio::runtime::Builder;

    use super::*;
    use crate::content::Outline;

    const OUTLINE: Outline = Outline {
        size: 20_000,
        seed: 5,
    };

    /// What comes over the wire for these requests on one connection, which then is to be closed.
    fn answers(framing: Framing, paths: &[&str]) -> Vec<u8> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_io()
            .build()
            .unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let _entered = runtime.enter();
        let listener = TcpListener::from_std(listener).unwrap();
        let offer = Offer {
            content: Content::new(OUTLINE, 8192),
            framing,
            misdeed: None,
        };
        runtime.spawn(serve(listener, Arc::new(offer)));
        let mut stream = TcpStream::connect(address).unwrap();
        for (k, path) in paths.iter().enumerate() {
            let last = k + 1 == paths.len();
            let close = if last { "connection: close\r\n" } else { "" };
            let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{close}\r\n");
            stream.write_all(request.as_bytes()).unwrap();
        }
        let mut answers = Vec::new();
        stream.read_to_end(&mut answers).unwrap();
        answers
    }

    /// A response's head, and what follows it.
    fn split(answer: &[u8]) -> (String, &[u8]) {
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
        let (head, rest) = answer.split_at(end.unwrap() + 4);
        (String::from_utf8(head.to_vec()).unwrap(), rest)
    }

    fn body(number: u64) -> Vec<u8> {
        let content = Content::new(OUTLINE, 8192);
        let peak = OUTLINE.peak(number);
        [0, 8192, 16384]
            .map(|offset| content.piece(peak, offset))
            .concat()
    }

    #[test]
    fn chunks_are_on_the_wire_as_large_as_was_asked_for() {
        let answer = answers(Framing::Chunked, &["/3"]);
        let (head, mut rest) = split(&answer);
        assert!(
            head.contains("\r\ntransfer-encoding: chunked\r\n"),
            "{head}"
        );
        assert!(!head.contains("content-length"), "{head}");
        let mut whole = Vec::new();
        for length in [8192, 8192, 20_000 - 16_384, 0] {
            let line = format!("{length:X}\r\n");
            rest = rest.strip_prefix(line.as_bytes()).unwrap();
            whole.extend_from_slice(&rest[..length]);
            rest = rest[length..].strip_prefix(b"\r\n").unwrap();
        }
        assert!(rest.is_empty());
        assert!(whole == body(3));
    }

    #[test]
    fn a_length_is_on_the_wire_and_the_connection_is_kept() {
        let answer = answers(Framing::ContentLength, &["/0", "/1"]);
        let mut rest = answer.as_slice();
        for number in [0, 1] {
            let (head, follows) = split(rest);
            assert!(head.contains("\r\ncontent-length: 20000\r\n"), "{head}");
            assert!(!head.contains("transfer-encoding"), "{head}");
            let (whole, after) = follows.split_at(20_000);
            assert!(whole == body(number));
            rest = after;
        }
        assert!(rest.is_empty());
    }

    #[test]
    fn what_is_no_number_is_not_there() {
        let answer = answers(Framing::Chunked, &["/x"]);
        let (head, rest) = split(&answer);
        assert!(head.starts_with("HTTP/1.1 404"), "{head}");
        assert!(rest.is_empty());
    }
}
