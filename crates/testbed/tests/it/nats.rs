//! Tests of a private NATS server over its own protocol.

use std::{
    io::{BufRead as _, BufReader, ErrorKind, Write as _},
    net::TcpStream,
    time::Duration,
};

use nuncio_testbed::{Nats, NatsOptions, Server as _};

/// Connects and requests an answer.
fn connect(nats: &Nats) -> BufReader<TcpStream> {
    let stream = TcpStream::connect(nats.address()).unwrap();
    let mut lines = BufReader::new(stream);
    assert!(line(&mut lines).unwrap().starts_with("INFO "));
    lines.get_mut().write_all(b"CONNECT {\"verbose\":false}\r\n").unwrap();
    ping(&mut lines);
    assert_eq!(line(&mut lines).unwrap(), "PONG\r\n");
    lines
}

fn ping(lines: &mut BufReader<TcpStream>) {
    lines.get_mut().write_all(b"PING\r\n").unwrap();
}

fn line(lines: &mut BufReader<TcpStream>) -> std::io::Result<String> {
    let mut line = String::new();
    lines.read_line(&mut line).map(|_| line)
}

#[test]
fn the_shared_server_answers() {
    connect(Nats::shared().unwrap());
}

#[test]
fn a_killed_server_restarts_on_its_port() {
    let nats = Nats::start(NatsOptions::new()).unwrap();
    let mut lines = connect(&nats);
    nats.kill().unwrap();
    assert!(matches!(line(&mut lines).as_deref(), Ok("") | Err(_)));
    assert!(TcpStream::connect(nats.address()).is_err());
    nats.restart().unwrap();
    connect(&nats);
    nats.restart().unwrap();
    connect(&nats);
}

#[test]
fn a_paused_server_answers_after_it_continues() {
    let nats = Nats::start(NatsOptions::new().with_args(["--name", "paused"])).unwrap();
    let mut lines = connect(&nats);
    nats.pause().unwrap();
    ping(&mut lines);
    lines.get_ref().set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    assert!(matches!(line(&mut lines).unwrap_err().kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut));
    nats.resume().unwrap();
    lines.get_ref().set_read_timeout(None).unwrap();
    assert_eq!(line(&mut lines).unwrap(), "PONG\r\n");
}
