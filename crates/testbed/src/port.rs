//! Ports.

use std::{
    fmt::{self, Display},
    net::{Ipv4Addr, SocketAddr},
};

use anyhow::{Context as _, Result};
use socket2::{Domain, Socket, Type};

/// A port of 127.0.0.1 for a server that is started later, or comes and goes: a socket holds it that does not listen.
///
/// A port that is only known to be free may be another's when the server is started: the system gives it to whoever
/// asks for any, to listen or to connect. One that is held is given to nobody, but a server that asks for this very
/// port, with `SO_REUSEADDR` as servers do, gets it.
#[derive(Debug)]
pub struct Port {
    number: u16,
    _held: Socket,
}

impl Port {
    /// Takes one that nobody has.
    ///
    /// # Errors
    ///
    /// When the system has none.
    pub fn take() -> Result<Self> {
        let held = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        held.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).context("no port of 127.0.0.1 is free")?;
        // Only now: with it, the system may choose one that another holds in the same way.
        held.set_reuse_address(true)?;
        let address = held.local_addr()?.as_socket().context("a TCP socket has an address")?;
        Ok(Self { number: address.port(), _held: held })
    }

    /// Its number.
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
    fn a_server_gets_it_again_and_again_and_nobody_else() {
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
