//! What one blocking `SendMessage` costs: one thread, one call after the other, an agent of three events, tasks in
//! memory.
//!
//! `cargo run --release -p nuncio-engine --example echo_bench -- [calls] [rounds]`

use std::{process::ExitCode, time::Instant};

use nuncio_engine::{AgentError, Engine, Turn, agent_fn};
use nuncio_model::{Message, Request, Scope, op::SendMessageRequest};

async fn echo(turn: Turn) -> Result<(), AgentError> {
    turn.begin().await?;
    turn.artifact("echo").finish(turn.message().text()).await?;
    turn.complete("done").await
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u32>());
    let (Ok(calls), Ok(rounds)) = (arguments.next().unwrap_or(Ok(100_000)), arguments.next().unwrap_or(Ok(5))) else {
        return ExitCode::FAILURE;
    };
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return ExitCode::FAILURE;
    };
    for _ in 0..rounds {
        let engine = Engine::builder(agent_fn(echo)).build();
        let begun = Instant::now();
        let outcome = runtime.block_on(async {
            for _ in 0..calls {
                let call = SendMessageRequest::new(Message::user("hello"));
                engine.call(Request::new(Scope::open(), call)).await?;
            }
            Ok::<_, nuncio_model::Error>(())
        });
        if outcome.is_err() {
            return ExitCode::FAILURE;
        }
        report(begun.elapsed().as_nanos() / u128::from(calls));
    }
    ExitCode::SUCCESS
}

#[expect(clippy::print_stdout, reason = "it is what this program is for")]
fn report(nanoseconds: u128) {
    println!("{nanoseconds} ns/op");
}
