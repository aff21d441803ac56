//! `nuncio card get` (section 8; sections 3.1.11 and 5.7 for `--extended` and `--validate`).

pub(crate) mod validate;

use clap::Args;

use crate::{
    args::{ConnectArgs, WaitArgs},
    connect::{self, Connection},
    context::Context,
    diag,
    error::{CliError, Code},
    follow,
    output::Ordered,
};

/// The errors of agents without an extended card.
const NONE_EXTENDED: [&str; 3] =
    ["UnsupportedOperationError", "ExtendedAgentCardNotConfiguredError", "MethodNotFoundError"];

#[derive(Debug, Args)]
pub(crate) struct CardGetArgs {
    /// The agent, as with -a
    #[arg(value_name = "REF", conflicts_with_all = ["agent_card", "endpoint"])]
    reference: Option<String>,
    /// Check the card against the specification
    #[arg(long)]
    validate: bool,
    /// Read the card for authenticated callers
    #[arg(long, conflicts_with = "validate")]
    extended: bool,
    #[command(flatten)]
    waiting: WaitArgs,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

impl CardGetArgs {
    /// The reference that is given as an argument, either way.
    pub(crate) fn reference(&self) -> Option<&str> {
        self.reference.as_deref().or(self.connect.agent_card.as_deref())
    }
}

pub(crate) async fn run(context: &Context, args: &CardGetArgs) -> Result<(), CliError> {
    let mut connect = args.connect.clone();
    if args.reference.is_some() {
        connect.agent_card.clone_from(&args.reference);
    }
    follow::within(context, &args.waiting, async {
        if args.extended { extended(context, &connect).await } else { public(context, args, &connect).await }
    })
    .await
}

async fn public(context: &Context, args: &CardGetArgs, connect: &ConnectArgs) -> Result<(), CliError> {
    if args.validate {
        let (document, unusable) = connect::document(context, connect).await?;
        let mut found = validate::document(&document);
        for remark in &found.remarks {
            diag::warn(remark);
        }
        // What is wrong with an address was said where the address is.
        found.mistakes.extend(unusable.filter(|_| found.mistakes.is_empty()).map(|error| error.to_string()));
        if !found.mistakes.is_empty() {
            return Err(CliError::new(Code::CardInvalid, found.mistakes.join("; "))
                .with_hint("section 4.4 of the specification says what a card holds"));
        }
        match found.older {
            Some(version) => diag::line(&format!("the card is valid, as one of version {version}")),
            None => diag::line("the card is valid"),
        }
    }
    let resolved = connect::resolve(context, connect).await?;
    let document: Ordered = serde_json::from_slice(&resolved.document).map_err(CliError::internal)?;
    context.output.card(&resolved.card, &document)
}

async fn extended(context: &Context, connect: &ConnectArgs) -> Result<(), CliError> {
    let connection = Connection::open(context, connect).await?;
    if connection.client.card().is_some_and(|card| !card.capabilities.extends_card()) {
        diag::warn("the agent's card does not declare an extended card");
    }
    let card = connection.client.extended_card().await.map_err(|error| {
        let error = connection.explain(error);
        let is_refused = matches!(error.code, Code::Agent(name) if NONE_EXTENDED.contains(&name));
        if is_refused { error.with_hint("without --extended the card for everybody is shown") } else { error }
    })?;
    context.output.card(&card, &*card)
}
