//! gRPC over h2 with prior knowledge: concurrent calls, at most sixteen per connection. Like the load over HTTP/1.1,
//! this load does not sleep during waits.

use std::{
    cell::RefCell,
    net::SocketAddr,
    rc::Rc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use bytes::Bytes;
use futures_util::future::try_join_all;
use h2::client::{Builder, SendRequest};
use hdrhistogram::Histogram;
use http::{HeaderMap, Request};
use tokio::{net::TcpStream, task::JoinHandle};

use super::{
    STALL, Slice, Until, histogram,
    proto::{is_completed, send_message},
    record,
    request::{NUMBER, Template, next_number},
    unary::echoes,
};

const CALLS_PER_CONNECTION: usize = 16;
const WINDOW: u32 = 1 << 20;

/// Sends `SendMessage` calls of an echo for `duration`, with `concurrency` concurrent calls.
pub(crate) fn run(address: SocketAddr, concurrency: usize, duration: Duration) -> Result<Slice> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let measured = measure(address, concurrency, Until::Elapsed(duration));
        let slice = tokio::time::timeout(duration + STALL, measured).await;
        slice.context("no answer over gRPC")?
    })
}

async fn measure(address: SocketAddr, concurrency: usize, until: Until) -> Result<Slice> {
    let (mut connections, mut drivers) = (Vec::new(), Vec::new());
    for _ in 0..concurrency.div_ceil(CALLS_PER_CONNECTION) {
        let (connection, driver) = connect(address).await?;
        connections.push(connection);
        drivers.push(driver);
    }
    let state = Rc::new(RefCell::new(CallState {
        template: Template::new(send_message(&format!("echo {NUMBER}"))),
        latency: histogram()?,
        sent: 0,
        done: 0,
    }));
    let awake = tokio::spawn(stay_awake());
    let started = Instant::now();
    let lanes = (0..concurrency).map(|lane| {
        let connection = connections[lane % connections.len()].clone();
        calls(connection, Rc::clone(&state), started, until)
    });
    try_join_all(lanes).await?;
    let wall = started.elapsed();
    drop(connections);
    for task in drivers.into_iter().chain([awake]) {
        task.abort();
    }
    let state = state.borrow();
    Ok(Slice { done: state.done, wall, idle: Duration::ZERO, latency: state.latency.clone() })
}

/// Always ready, so that the runtime polls continuously and never sleeps.
async fn stay_awake() {
    loop {
        tokio::task::yield_now().await;
    }
}

struct CallState {
    template: Template,
    latency: Histogram<u64>,
    sent: u64,
    done: u64,
}

async fn connect(address: SocketAddr) -> Result<(SendRequest<Bytes>, JoinHandle<()>)> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let mut builder = Builder::new();
    builder.initial_window_size(WINDOW).initial_connection_window_size(WINDOW << 4);
    let (client, connection) = builder.handshake(stream).await?;
    let driver = tokio::spawn(async move {
        // An error of the connection is reported by the calls on it.
        let _ = connection.await;
    });
    Ok((client, driver))
}

async fn calls(
    connection: SendRequest<Bytes>,
    state: Rc<RefCell<CallState>>,
    started: Instant,
    until: Until,
) -> Result<()> {
    let request = Request::post("http://127.0.0.1/lf.a2a.v1.A2AService/SendMessage")
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .header("a2a-version", "1.0")
        .body(())?;
    let mut connection = connection;
    loop {
        let number = next_number();
        let message = {
            let mut state = state.borrow_mut();
            if !until.allows(state.sent, started.elapsed()) {
                return Ok(());
            }
            state.sent += 1;
            Bytes::copy_from_slice(state.template.fill(number))
        };
        let sent_at = Instant::now();
        connection = connection.ready().await?;
        let answer = call(&mut connection, request.clone(), message).await?;
        if !echoes(&answer, number) || !is_completed(&answer) {
            bail!("not the answer to gRPC call {number}: {}", String::from_utf8_lossy(&answer));
        }
        let mut state = state.borrow_mut();
        record(&mut state.latency, sent_at.elapsed());
        state.done += 1;
    }
}

/// Makes one call and returns the frame of the answer.
async fn call(connection: &mut SendRequest<Bytes>, request: Request<()>, message: Bytes) -> Result<Bytes> {
    let (response, mut body) = connection.send_request(request, false)?;
    body.send_data(message, true)?;
    let response = response.await?;
    if !response.status().is_success() {
        bail!("status {} over gRPC", response.status());
    }
    check_status(response.headers(), false)?;
    let mut body = response.into_body();
    let mut answer = Bytes::new();
    while let Some(data) = body.data().await {
        let data = data?;
        body.flow_control().release_capacity(data.len())?;
        answer = if answer.is_empty() { data } else { [answer, data].concat().into() };
    }
    check_status(&body.trailers().await?.unwrap_or_default(), true)?;
    Ok(answer)
}

fn check_status(headers: &HeaderMap, required: bool) -> Result<()> {
    match headers.get("grpc-status") {
        Some(status) if status == "0" => Ok(()),
        None if !required => Ok(()),
        status => bail!("grpc-status {status:?}, {:?}", headers.get("grpc-message")),
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, thread};

    use http::Response;

    use super::*;

    /// A `SendMessageResponse` with a task in this state and the status message `echo: NUMBER`.
    fn response(state: u8, request: &[u8]) -> Vec<u8> {
        let at = memchr::memmem::find(request, b"m-").unwrap();
        let number = &request[at + 2..at + 14];
        let status = [&[3 << 3 | 2, 22, 1 << 3, state, 2 << 3 | 2, 18], b"echo: ".as_slice(), number].concat();
        [&[0, 0, 0, 0, 26, 1 << 3 | 2, 24], status.as_slice()].concat()
    }

    fn server(state: u8, status: &'static str) -> SocketAddr {
        let (tell, told) = mpsc::channel();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
                tell.send(listener.local_addr().unwrap()).unwrap();
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    tokio::spawn(async move {
                        let mut connection = h2::server::handshake(stream).await.unwrap();
                        while let Some(Ok((request, mut respond))) = connection.accept().await {
                            tokio::spawn(async move {
                                let message = request.into_body().data().await.unwrap().unwrap();
                                let mut body = respond.send_response(Response::new(()), false).unwrap();
                                body.send_data(response(state, &message).into(), false).unwrap();
                                let mut trailers = HeaderMap::new();
                                trailers.insert("grpc-status", status.parse().unwrap());
                                body.send_trailers(trailers).unwrap();
                            });
                        }
                    });
                }
            });
        });
        told.recv().unwrap()
    }

    #[test]
    fn counts_every_call() {
        let slice = run(server(3, "0"), 20, Duration::from_millis(50)).unwrap();
        assert!(slice.done >= 20);
        assert_eq!(slice.latency.len(), slice.done);
    }

    #[test]
    fn refuses_another_state_and_another_status() {
        assert!(run(server(2, "0"), 1, Duration::from_millis(50)).is_err());
        assert!(run(server(3, "13"), 1, Duration::from_millis(50)).is_err());
    }
}
