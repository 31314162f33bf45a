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
