//! The server: a process of its own that answers each request with a body, as fast as the connection
//! takes it.

#![expect(unsafe_code, reason = "the server is forked")]

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;

use anyhow::Context;
use brigade::process::{self, Forked};
use bytes::Bytes;
use futures_lite::stream;
use host::console;
use http_body_util::StreamBody;
use hyper::body::{Body, Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use runtime::RuntimeFlags;

use crate::content::{CHUNK, Content};

/// The server's process, for as long as this lives.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) process: Forked,
}

/// Message if 127.0.0.1 cannot be reached.
pub(crate) const NO_LOOPBACK: &str =
    "cannot listen on 127.0.0.1: if this is a network namespace, run `ip link set lo up`";

impl Server {
    /// Forks a server on a runtime of its own. Call it while this process has one thread.
    pub(crate) fn fork(content: Content) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context(NO_LOOPBACK)?;
        let address = listener.local_addr()?;
        // SAFETY: this process has one thread.
        let child = unsafe { process::fork(|| live(listener, content)) };
        let child = child.context("cannot fork the server: see ulimit -u and pids.max")?;
        Ok(Server { address, process: Forked(child) })
    }
}

/// The whole life of the server's process.
fn live(listener: TcpListener, content: Content) -> i32 {
    let runtime = RuntimeFlags::multi_thread(None).build(|builder| builder.enable_io());
    let Err(error) = runtime.and_then(|runtime| runtime.block_on(serve(listener, content)));
    console::say(&format!("body-stream: the server: {error:#}"));
    1
}

/// Serves each connection in a task of its own.
async fn serve(listener: TcpListener, content: Content) -> anyhow::Result<Infallible> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let content = Arc::new(content);
    loop {
        let (stream, _) = listener.accept().await.context("cannot accept")?;
        stream.set_nodelay(true)?;
        let content = Arc::clone(&content);
        tokio::spawn(async move {
            let service = service_fn(move |request: Request<Incoming>| {
                let response = respond(Arc::clone(&content), request.uri().path());
                async { Ok::<_, Infallible>(response) }
            });
            let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            // An error shows at the other end, which reports it.
            let _ = connection.await;
        });
    }
}

/// The response to a request for `/NUMBER`: that body, in chunks. Any other path has the first one.
fn respond(
    content: Arc<Content>,
    path: &str,
) -> Response<impl Body<Data = Bytes, Error = Infallible> + use<>> {
    let number = path.strip_prefix('/').and_then(|text| text.parse().ok()).unwrap_or(0);
    let offsets = (0..content.size).step_by(CHUNK as usize);
    let frames = offsets.map(move |offset| Ok(Frame::data(content.chunk(number, offset))));
    Response::new(StreamBody::new(stream::iter(frames)))
}
