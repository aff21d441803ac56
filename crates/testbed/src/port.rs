//! Ports.

use std::{
    fmt::{self, Display},
    net::{Ipv4Addr, SocketAddr},
};

use anyhow::{Context as _, Result};
use socket2::{Domain, Socket, Type};

/// A port of 127.0.0.1 for a server that starts later or restarts. A socket without `listen` reserves the port.
///
/// A port that is merely free can be assigned to another process before the server starts: the system assigns free
/// ports to processes that request any port, to listen or to connect. A reserved port is not assigned. A server can
/// still bind to this specific port with `SO_REUSEADDR`, which servers set.
#[derive(Debug)]
pub struct Port {
    number: u16,
    _held: Socket,
}

impl Port {
    /// Reserves a free port.
    ///
    /// # Errors
    ///
    /// If the system has no free port.
    pub fn take() -> Result<Self> {
        let held = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        held.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).context("no port of 127.0.0.1 is free")?;
        // The option must be set after `bind`; before, the system could choose a port that another socket reserves in
        // the same way.
        held.set_reuse_address(true)?;
        let address = held.local_addr()?.as_socket().context("the TCP socket has no address")?;
        Ok(Self { number: address.port(), _held: held })
    }

    /// The port number.
    pub fn number(&self) -> u16 {
        self.number
    }
}

impl Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(&self.number, f)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::ErrorKind,
        net::{TcpListener, TcpStream},
    };

    use super::*;

    #[test]
    fn only_the_server_can_use_a_reserved_port_repeatedly() {
        let port = Port::take().unwrap();
        for _ in 0..3 {
            let server = TcpListener::bind((Ipv4Addr::LOCALHOST, port.number())).unwrap();
            assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, port.number())).is_ok());
            drop(server);
            let refused = TcpStream::connect((Ipv4Addr::LOCALHOST, port.number())).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        }
        let others: Vec<_> = (0..100).map(|_| Port::take().unwrap()).collect();
        assert!(others.iter().all(|other| other.number() != port.number()));
    }
}
