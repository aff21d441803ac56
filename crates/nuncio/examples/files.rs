//! Files in both directions: `cargo run --example files`.

#![expect(clippy::print_stdout, reason = "an example shows what it got")]

use nuncio::{AgentCard, Engine, Message, Part, PartContent, Turn, engine::agent_fn};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // An agent that returns a file with line numbers.
    let numberer = agent_fn(|turn: Turn| async move {
        let Some((part, bytes)) = turn.message().parts.iter().find_map(|part| match &part.content {
            PartContent::Raw(bytes) => Some((part, bytes)),
            _ => None,
        }) else {
            return turn.reject("send a file").await;
        };
        let text = String::from_utf8_lossy(bytes);
        let lines: Vec<_> = text.lines().zip(1..).map(|(line, number)| format!("{number:3} {line}")).collect();
        let file = Part::file(part.filename().unwrap_or("numbered.txt"), lines.join("\n").into_bytes());
        turn.artifact("numbered").finish(file).await
    });
    // The server refuses files of other types before the agent runs.
    let mut card = AgentCard::new("Numberer", "Numbers the lines of a file.");
    card.default_input_modes.push("text/x-toml".into());
    let client = nuncio::local(Engine::builder(numberer).card(card).build());

    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let mut message = Message::user("number these lines");
    message.parts.push(Part::from_path(path)?);
    let answer = client.send(message).await?;

    for artifact in answer.task().map(|task| &task.artifacts).into_iter().flatten() {
        for part in &artifact.parts {
            if let nuncio::model::PartContentRef::Raw(bytes) = part.content {
                let (name, media_type) = (part.filename().unwrap_or_default(), part.media_type().unwrap_or_default());
                println!("{name} ({media_type}), {} bytes, begins:", bytes.len());
                String::from_utf8_lossy(bytes).lines().take(3).for_each(|line| println!("{line}"));
            }
        }
    }
    Ok(())
}
