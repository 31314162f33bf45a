//! The client: a connection of its own for each task, kept alive from one iteration to the next.

use std::net::SocketAddr;

use anyhow::{Context, ensure};
use bytes::Bytes;
use http_body_util::Empty;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::HOST;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::content::Summary;
use crate::server::NO_LOOPBACK;
use crate::store::Keeper;

/// A connection, and what is done with its bodies.
pub(crate) struct Client {
    requests: SendRequest<Empty<Bytes>>,
    keeper: Keeper,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr, keeper: Keeper) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).await.context(NO_LOOPBACK)?;
        stream.set_nodelay(true)?;
        let (requests, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // An error of the connection shows in the requests.
        tokio::spawn(connection);
        Ok(Client { requests, keeper })
    }

    /// Asks for a body, keeps it as it comes in, and summarises it.
    pub(crate) async fn fetch(mut self, number: u64) -> anyhow::Result<(Self, Summary)> {
        let request = Request::get(format!("/{number}")).header(HOST, "localhost");
        self.requests.ready().await.context("the connection is closed")?;
        let response = self.requests.send_request(request.body(Empty::new())?).await;
        let response = response.context("there is no response")?;
        let status = response.status();
        ensure!(status == StatusCode::OK, "body {number}: the server answers {status}");
        let kept = self.keeper.keep(response.into_body()).await;
        Ok((self, kept.with_context(|| format!("body {number}"))?))
    }
}
