//! The client: a connection of its own for each task, kept alive from one iteration to the next.

use std::net::SocketAddr;

use anyhow::{Context, bail, ensure};
use blocking::Offload;
use bytes::Bytes;
use http_body_util::Empty;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::content::Summary;
use crate::server::{Framing, NO_LOOPBACK};
use crate::store::Keeper;

/// A connection, and what is done with its bodies.
pub(crate) struct Client<O> {
    requests: SendRequest<Empty<Bytes>>,
    framing: Framing,
    size: u64,
    keeper: Keeper<O>,
}

impl<O: Offload> Client<O> {
    /// Connects, and waits for a response without a body.
    ///
    /// # Errors
    /// What the system or the connection reports.
    pub(crate) async fn connect(
        address: SocketAddr,
        framing: Framing,
        size: u64,
        keeper: Keeper<O>,
    ) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).await.context(NO_LOOPBACK)?;
        stream.set_nodelay(true)?;
        let (requests, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // An error of the connection shows in the requests.
        tokio::spawn(connection);
        let mut client = Client { requests, framing, size, keeper };
        let response = client.ask("/").await?;
        ensure!(
            response.status() == StatusCode::NOT_FOUND && response.body().is_end_stream(),
            "another server answers on {address}"
        );
        Ok(client)
    }

    /// Asks for a body, keeps it as it comes in, and summarises it.
    ///
    /// # Errors
    /// Where the response is not as it should be, breaks off, or cannot be kept.
    pub(crate) async fn fetch(mut self, number: u64) -> anyhow::Result<(Self, Summary)> {
        let summary = self.take(number).await;
        let summary = summary.with_context(|| format!("body {number}"))?;
        Ok((self, summary))
    }

    async fn take(&mut self, number: u64) -> anyhow::Result<Summary> {
        let response = self.ask(&format!("/{number}")).await?;
        self.check(&response)?;
        self.keeper.keep(response.into_body()).await
    }

    async fn ask(&mut self, path: &str) -> anyhow::Result<Response<Incoming>> {
        let request = Request::get(path).header(HOST, "localhost");
        let request = request.body(Empty::new())?;
        let ready = self.requests.ready().await;
        ready.context("the connection is closed")?;
        let response = self.requests.send_request(request).await;
        response.context("there is no response")
    }

    /// Checks that a body says where it ends as it was asked to.
    fn check<T>(&self, response: &Response<T>) -> anyhow::Result<()> {
        let header = |name| response.headers().get(name).map(|value| value.as_bytes());
        let (encoding, length) = (header(TRANSFER_ENCODING), header(CONTENT_LENGTH));
        let status = response.status();
        ensure!(status == StatusCode::OK, "the server answers {status}");
        let size = self.size.to_string();
        match (self.framing, encoding, length) {
            (Framing::Chunked, Some(b"chunked"), None) => Ok(()),
            (Framing::ContentLength, None, Some(length)) if length == size.as_bytes() => Ok(()),
            _ => bail!("the response has other headers: {:?}", response.headers()),
        }
    }
}
