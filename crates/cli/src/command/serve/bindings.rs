//! Which bindings the card lists.

use nuncio_server::{Binding, GrpcUrl};

use super::settings::Settings;
use crate::error::CliError;

/// What the card lists.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) bindings: Vec<Binding>,
    pub(super) grpc_url: Option<GrpcUrl>,
}

impl Listed {
    /// The names of the listed bindings that are served.
    pub(super) fn names(&self, served: &[Binding]) -> String {
        let listed = served.iter().filter(|binding| self.bindings.contains(binding));
        listed.map(|binding| binding.name()).collect::<Vec<_>>().join(", ")
    }
}

/// Reads `--bindings` and `--grpc-url`.
pub(super) fn choose(settings: &Settings) -> Result<Listed, CliError> {
    let grpc_url = settings.parsed("grpc-url", |url| url.parse::<GrpcUrl>().map_err(|error| error.to_string()))?;
    let is_named = settings.values("bindings").is_some();
    let mut bindings = if is_named { named(settings)? } else { vec![Binding::JsonRpc, Binding::HttpJson] };
    if grpc_url.is_some() && !bindings.contains(&Binding::Grpc) {
        if is_named {
            let message = "--grpc-url is the address of gRPC in the card, and --bindings does not list gRPC";
            return Err(CliError::usage(message).with_hint("add grpc to --bindings, or leave --grpc-url out"));
        }
        bindings.push(Binding::Grpc);
    }
    Ok(Listed { bindings, grpc_url })
}

fn named(settings: &Settings) -> Result<Vec<Binding>, CliError> {
    let wrong = |reason: &str| settings.wrong("bindings", reason);
    let names = settings.list("bindings").into_iter().map(str::trim).filter(|name| !name.is_empty());
    let parse = |name: &str| {
        let unknown = |_| wrong(&format!("`{name}` is not a binding; there are jsonrpc, rest and grpc"));
        name.parse::<Binding>().map_err(unknown)
    };
    let bindings = names.map(parse).collect::<Result<Vec<_>, _>>()?;
    if bindings.is_empty() { Err(wrong("it names no binding; there are jsonrpc, rest and grpc")) } else { Ok(bindings) }
}
