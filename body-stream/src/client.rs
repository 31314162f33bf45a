//! The client: one connection for each task, kept alive from one iteration to the next.

use std::io::ErrorKind;
use std::net::SocketAddr;

use anyhow::{Context, bail, ensure};
use bytes::Bytes;
use http_body_util::Empty;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::content::Summary;
use crate::process::NO_LOOPBACK;
use crate::server::Framing;
use crate::store::Keeper;

/// A connection, and what is done with the bodies that come over it.
pub(crate) struct Client {
    requests: SendRequest<Empty<Bytes>>,
    connection: JoinHandle<anyhow::Result<()>>,
    framing: Framing,
    size: u64,
    keeper: Keeper,
}

impl Client {
    /// Connects, and asks for a response without a body: whoever gets that is ready.
    ///
    /// # Errors
    /// What the system or the connection reports.
    pub(crate) async fn connect(
        address: SocketAddr,
        framing: Framing,
        size: u64,
        keeper: Keeper,
    ) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).await;
        let stream = stream.map_err(|e| match e.kind() {
            ErrorKind::NetworkUnreachable => anyhow::Error::new(e).context(NO_LOOPBACK),
            _ => e.into(),
        })?;
        stream.set_nodelay(true)?;
        let (requests, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let connection = tokio::spawn(async { connection.await.map_err(anyhow::Error::new) });
        let mut client = Client {
            requests,
            connection,
            framing,
            size,
            keeper,
        };
        let response = client.ask("/").await?;
        ensure!(
            response.status() == StatusCode::NOT_FOUND && response.body().is_end_stream(),
            "something else than the server answers on {address}"
        );
        Ok(client)
    }

    /// Asks for a body, keeps it as it comes in, and summarises it.
    ///
    /// # Errors
    /// Where the response is not what it should be, breaks off, or cannot be kept.
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
        self.requests
            .ready()
            .await
            .context("the connection is gone")?;
        let response = self.requests.send_request(request).await;
        response.context("there is no response")
    }

    /// Whether a body's end is told as was asked for.
    fn check<T>(&self, response: &Response<T>) -> anyhow::Result<()> {
        let header = |name| response.headers().get(name).map(|value| value.as_bytes());
        let (encoding, length) = (header(TRANSFER_ENCODING), header(CONTENT_LENGTH));
        let status = response.status();
        ensure!(status == StatusCode::OK, "the server answers {status}");
        let size = self.size.to_string();
        match (self.framing, encoding, length) {
            (Framing::Chunked, Some(b"chunked"), None) => Ok(()),
            (Framing::ContentLength, None, Some(length)) if length == size.as_bytes() => Ok(()),
            _ => bail!(
                "the response has other headers than it should have: {:?}",
                response.headers()
            ),
        }
    }

    /// Closes the connection.
    ///
    /// # Errors
    /// What was wrong with it.
    pub(crate) async fn close(self) -> anyhow::Result<()> {
        drop(self.requests);
        runtime::join(self.connection).await.context("a connection")
    }
}
