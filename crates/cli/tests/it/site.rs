//! A small web server with the answers of a test, for behavior that Nuncio does not have.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// Listens until the test's process ends.
pub(crate) struct Site {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Site {
    /// `answer` takes the first line of a request and gives a status and a body, of JSON or of events.
    pub(crate) fn start(answer: impl Fn(&str) -> (u16, String) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, answer) = (requests.clone(), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (seen, answer) = (seen.clone(), answer.clone());
                thread::spawn(move || serve(stream.unwrap(), &seen, &*answer));
            }
        });
        Self { url, requests }
    }

    /// Heads and bodies of all requests.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, seen: &Mutex<Vec<String>>, answer: &dyn Fn(&str) -> (u16, String)) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut request = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        request.push_str(&line);
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    request.push_str(&String::from_utf8_lossy(&body));
    let (status, body) = answer(request.lines().next().unwrap());
    seen.lock().unwrap().push(request);
    let media_type = if body.starts_with("data: ") { "text/event-stream" } else { "application/json" };
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: {media_type}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(format!("{head}{body}").as_bytes());
}
