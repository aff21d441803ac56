//! Tests of a proxy's faults.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

use nuncio_testbed::{Port, Proxy};

/// A server that echoes all data, as long as the process lives.
fn echo() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            thread::spawn(move || std::io::copy(&mut stream.try_clone().unwrap(), &mut stream));
        }
    });
    address
}

fn connect(proxy: &Proxy) -> TcpStream {
    let stream = TcpStream::connect(proxy.address()).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

fn say(stream: &mut TcpStream, word: &str) -> std::io::Result<String> {
    stream.write_all(word.as_bytes())?;
    hear(stream, word.len())
}

fn hear(stream: &mut TcpStream, length: usize) -> std::io::Result<String> {
    let mut heard = vec![0; length];
    stream.read_exact(&mut heard)?;
    Ok(String::from_utf8(heard).unwrap())
}

/// Checks that no data arrives for a while.
fn silence(stream: &mut TcpStream) {
    stream.set_read_timeout(Some(Duration::from_millis(150))).unwrap();
    let kind = stream.read(&mut [0; 1]).unwrap_err().kind();
    assert!(matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut), "{kind:?}");
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
}

#[test]
fn data_and_the_end_are_forwarded() {
    let proxy = Proxy::start(echo()).unwrap();
    let mut stream = connect(&proxy);
    let long = "x".repeat(3_000_000);
    let mut writer = stream.try_clone().unwrap();
    let written = long.clone();
    let writing = thread::spawn(move || {
        writer.write_all(written.as_bytes()).unwrap();
        writer.shutdown(std::net::Shutdown::Write).unwrap();
    });
    let mut heard = String::new();
    stream.read_to_string(&mut heard).unwrap();
    assert_eq!(heard, long);
    writing.join().unwrap();
}

#[test]
fn a_cut_resets_only_current_connections() {
    let proxy = Proxy::start(echo()).unwrap();
    let mut stream = connect(&proxy);
    assert_eq!(say(&mut stream, "one").unwrap(), "one");
    proxy.cut();
    assert_eq!(hear(&mut stream, 1).unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(say(&mut connect(&proxy), "two").unwrap(), "two");
}

#[test]
fn new_connections_can_be_refused_without_closing_others() {
    let proxy = Proxy::start(echo()).unwrap();
    let mut open = connect(&proxy);
    assert_eq!(say(&mut open, "one").unwrap(), "one");
    proxy.set(|faults| faults.refuses = true);
    assert!(say(&mut connect(&proxy), "two").is_err());
    assert_eq!(say(&mut open, "three").unwrap(), "three");
    proxy.heal();
    assert_eq!(say(&mut connect(&proxy), "four").unwrap(), "four");
}

#[test]
fn held_data_arrives_after_the_fault() {
    let proxy = Proxy::start(echo()).unwrap();
    let mut open = connect(&proxy);
    assert_eq!(say(&mut open, "one").unwrap(), "one");
    proxy.set(|faults| faults.holds = true);
    let mut new = connect(&proxy);
    for (stream, word) in [(&mut open, "two"), (&mut new, "new")] {
        stream.write_all(word.as_bytes()).unwrap();
        silence(stream);
    }
    proxy.heal();
    assert_eq!(hear(&mut open, 3).unwrap(), "two");
    assert_eq!(hear(&mut new, 3).unwrap(), "new");
}

#[test]
fn stalled_connections_stay_silent_and_new_connections_work() {
    let proxy = Proxy::start(echo()).unwrap();
    let mut open = connect(&proxy);
    assert_eq!(say(&mut open, "one").unwrap(), "one");
    proxy.stall();
    open.write_all(b"two").unwrap();
    silence(&mut open);
    let mut new = connect(&proxy);
    assert_eq!(say(&mut new, "three").unwrap(), "three");
    proxy.heal();
    silence(&mut open);
    proxy.cut();
    for stream in [&mut open, &mut new] {
        assert_eq!(hear(stream, 1).unwrap_err().kind(), ErrorKind::ConnectionReset);
    }
}

#[test]
fn a_connection_with_lost_replies_is_reset() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = Proxy::start(listener.local_addr().unwrap().to_string()).unwrap();
    let mut client = connect(&proxy);
    let (mut server, _) = listener.accept().unwrap();
    proxy.set(|faults| faults.loses_replies = true);
    client.write_all(b"question").unwrap();
    assert_eq!(hear(&mut server, 8).unwrap(), "question");
    server.write_all(b"answer").unwrap();
    silence(&mut client);
    proxy.heal();
    assert_eq!(hear(&mut client, 1).unwrap_err().kind(), ErrorKind::ConnectionReset);
}

#[test]
fn each_direction_has_its_own_delay() {
    let proxy = Proxy::start(echo()).unwrap();
    let mut stream = connect(&proxy);
    assert_eq!(say(&mut stream, "one").unwrap(), "one");
    let (up, down) = (Duration::from_millis(60), Duration::from_millis(90));
    proxy.set(|faults| faults.delay_up = up);
    let begun = Instant::now();
    assert_eq!(say(&mut stream, "two").unwrap(), "two");
    assert!(begun.elapsed() >= up);
    proxy.set(|faults| faults.delay_down = down);
    let begun = Instant::now();
    assert_eq!(say(&mut stream, "three").unwrap(), "three");
    assert!(begun.elapsed() >= up + down);
}

#[test]
fn without_a_server_connections_are_reset() {
    let port = Port::take().unwrap();
    let proxy = Proxy::start(format!("127.0.0.1:{port}")).unwrap();
    assert!(say(&mut connect(&proxy), "one").is_err());
}
