//! The ceiling: the maximum rate of axum with only a typed parse and a typed answer between the sockets.
//!
//! One handler answers `SendMessage` with the task after a three-event echo, and `SendStreamingMessage` with the events
//! of the demo agent's `stream N`. The handler does not store, check or number anything.

mod answer;
mod request;
mod stream;

use std::{io::Write as _, net::Ipv4Addr, sync::Arc};

use anyhow::Result;
use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::post,
    serve::ListenerExt as _,
};
use tokio::net::TcpListener;

use crate::{
    ceiling::{
        answer::Answer,
        request::Request,
        stream::{chunk_count, events},
    },
    options::CeilingOptions,
};

/// Serves until the process ends.
pub(crate) fn serve(options: &CeilingOptions) -> Result<()> {
    let padding: Arc<str> = Answer::padding_to(options.answer_bytes)?.into();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).await?;
        println!("listening on http://{}", listener.local_addr()?);
        std::io::stdout().flush()?;
        let listener = listener.tap_io(|stream| {
            // If the option cannot be set, the connection fails anyway.
            let _ = stream.set_nodelay(true);
        });
        axum::serve(listener, router(padding)).await?;
        Ok(())
    })
}

fn router(padding: Arc<str>) -> Router {
    Router::new().route("/", post(handle)).with_state(padding)
}

async fn handle(State(padding): State<Arc<str>>, body: Bytes) -> Response {
    let Ok(request) = serde_json::from_slice::<Request>(&body) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let text = request.text();
    match request.method.as_str() {
        "SendMessage" => match serde_json::to_vec(&Answer::to(&request, text, &padding)) {
            Ok(answer) => ([(CONTENT_TYPE, "application/json")], answer).into_response(),
            Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        },
        "SendStreamingMessage" => match chunk_count(text) {
            Some(chunks) => events(request.id, chunks).into_response(),
            None => StatusCode::BAD_REQUEST.into_response(),
        },
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::{net::SocketAddr, sync::mpsc, thread};

    use super::*;

    /// The address of a ceiling server that runs until the end of the test process.
    pub(crate) fn address() -> SocketAddr {
        let (tell, told) = mpsc::channel();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
                tell.send(listener.local_addr().unwrap()).unwrap();
                axum::serve(listener, router("".into())).await.unwrap();
            });
        });
        told.recv().unwrap()
    }
}
