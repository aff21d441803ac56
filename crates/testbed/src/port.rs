//! Ports.

use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Context as _, Result};

/// A port of 127.0.0.1 that nobody listens on. Somebody else may take it before its use, which is rare.
///
/// # Errors
///
/// When the system has none.
pub fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port of 127.0.0.1 is free")?;
    Ok(listener.local_addr()?.port())
}
