//! The receiver of webhooks; records each call.

use std::{net::Ipv4Addr, sync::Arc};

use anyhow::Result;
use axum::{Router, extract::Path, http::StatusCode, routing::post};
use tokio::net::TcpListener;

use crate::history::{History, What};

/// Starts the receiver; returns its address.
pub(crate) async fn start(history: Arc<History>) -> Result<String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let take = move |Path(hook): Path<String>, body: axum::body::Bytes| async move {
        match serde_json::from_slice(&body) {
            Ok(event) => {
                history.add(What::Delivered { hook, event });
                StatusCode::NO_CONTENT
            }
            Err(_) => StatusCode::BAD_REQUEST,
        }
    };
    let routes = Router::new().route("/{hook}", post(take));
    tokio::spawn(async move { axum::serve(listener, routes).await });
    Ok(format!("http://{address}"))
}
