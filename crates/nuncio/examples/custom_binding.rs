//! A custom binding in a server and a client, behind the server's authenticator: `cargo run --example custom_binding`.
//!
//! The binding is minimal: the body of `POST /ask` is the text of the message, and the body of the response is the text
//! of the answer. `docs/bindings.md` explains the interfaces.

#![expect(clippy::print_stdout, reason = "an example shows what it got")]

use axum::{Router, extract::State, http::StatusCode, routing::post};
use nuncio::{
    Client, Engine, Error, ErrorKind, Message, Server, Turn,
    auth::{AuthError, Authenticator, Tokens},
    engine::agent_fn,
    model::{
        Call, Caller, Calling, Reply, Request, Scope, Tenant,
        op::{SendMessageRequest, SendMessageResponse},
    },
};

/// The server side: decodes a call from bytes, and encodes a reply as bytes.
#[derive(Clone)]
struct Ask {
    engine: Engine,
    callers: Tokens,
}

async fn ask(State(ask): State<Ask>, request: axum::extract::Request) -> (StatusCode, String) {
    let (head, body) = request.into_parts();
    // First identify the caller, then read the body with a limit.
    let caller = match ask.callers.authenticate(&head).await {
        Ok(caller) => caller,
        Err(error @ AuthError::Forbidden) => return (StatusCode::FORBIDDEN, error.to_string()),
        Err(error) => return (StatusCode::UNAUTHORIZED, error.to_string()),
    };
    let Ok(body) = axum::body::to_bytes(body, 64 * 1024).await else {
        return (StatusCode::PAYLOAD_TOO_LARGE, "at most 64 KiB".to_owned());
    };
    let message = Message::user(String::from_utf8_lossy(&body).into_owned());
    let call = SendMessageRequest::new(message);
    // The scope determines the tasks that the caller can see.
    let scope = Scope::new(Tenant::default(), caller);
    match ask.engine.call(Request::new(scope, call)).await.and_then(SendMessageResponse::try_from) {
        Ok(answer) => (StatusCode::OK, answer.text()),
        Err(error) => (StatusCode::BAD_REQUEST, error.to_string()),
    }
}

/// The client side: encodes a call as bytes, and decodes a reply from bytes.
struct AskConnection {
    http: reqwest::Client,
    url: String,
    token: &'static str,
}

impl AskConnection {
    async fn ask(&self, request: Request) -> Result<Reply, Error> {
        let Call::SendMessage(send) = request.call else {
            return Err(Error::new(ErrorKind::UnsupportedOperation, "this binding sends messages only"));
        };
        let unavailable = |error: reqwest::Error| Error::new(ErrorKind::Unavailable, error.to_string());
        let request = self.http.post(&self.url).bearer_auth(self.token).body(send.message.text());
        let response = request.send().await.map_err(unavailable)?;
        let status = response.status();
        let text = response.text().await.map_err(unavailable)?;
        match status {
            StatusCode::OK => Ok(Reply::Message(Box::new(Message::agent(text)))),
            StatusCode::UNAUTHORIZED => Err(Error::new(ErrorKind::Unauthenticated, text)),
            _ => Err(Error::new(ErrorKind::InvalidRequest, text)),
        }
    }
}

impl Caller for AskConnection {
    fn call(&self, request: Request) -> Calling<'_> {
        Box::pin(self.ask(request))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let callers = Tokens::new().with("alice", "a-long-secret-of-alice")?;
    let agent = agent_fn(|turn: Turn| async move {
        let caller = turn.principal().name().unwrap_or("stranger").to_owned();
        turn.reply(format!("{caller} said: {}", turn.message().text())).await
    });
    let engine = Engine::builder(agent).build();
    let routes =
        Router::new().route("/ask", post(ask)).with_state(Ask { engine: engine.clone(), callers: callers.clone() });
    let server = Server::builder(engine).authenticator(callers).routes(routes).bind("127.0.0.1:0").await?;
    let url = format!("http://{}/ask", server.local_addr());
    tokio::spawn(server.serve(std::future::pending()));

    for token in ["a-long-secret-of-alice", "a-guess"] {
        let connection = AskConnection { http: reqwest::Client::new(), url: url.clone(), token };
        println!("{:?}", Client::over(connection).send("hello").await.map(|answer| answer.text()));
    }
    Ok(())
}
