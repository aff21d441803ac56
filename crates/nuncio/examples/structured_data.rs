//! Typed input and validated output: `cargo run --example structured_data`.
//!
//! The card declares the schemas of both types, so that other agents know the input.

#![expect(clippy::print_stdout, reason = "an example shows what it got")]

use nuncio::{AgentCard, Engine, Message, Part, Turn, engine::agent_fn, model::card::AgentSkill, schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Order {
    dish: String,
    guests: u32,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Bill {
    dish: String,
    total: u32,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut card =
        AgentCard::new("Waiter", "Takes orders.").with_skill(AgentSkill::new("order", "Order", "Takes an order."));
    schema::declare::<Order, Bill>(&mut card, "order");
    let waiter = agent_fn(|turn: Turn| async move {
        let order: Order = turn.data()?;
        let bill = Bill { dish: order.dish, total: order.guests * 12 };
        // Validated by the schema in the client's request.
        let part = turn.output(&bill)?;
        turn.artifact("bill").finish(part).await
    });
    let client = nuncio::local(Engine::builder(waiter).card(card).build());

    let order = Order { dish: "soup".into(), guests: 3 };
    let part = Part::json(&order)?.asking_for::<Bill>();
    let bill: Bill = client.send(Message::user(part)).await?.data()?;
    println!("{bill:?}");

    // Data of another type fails the task, with the reason in the status.
    let wrong = client.send(Part::data(serde_json::json!({"dish": "soup"}))).await?;
    println!("{}", wrong.text());
    Ok(())
}
