//! `nuncio version`.

use serde_json::json;

use crate::{context::Context, error::CliError};

pub(crate) fn run(context: &Context) -> Result<(), CliError> {
    let version = env!("CARGO_PKG_VERSION");
    let platform = format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH);
    context.output.document(&json!({"version": version, "platform": platform}), |to| {
        to.field("Version", version);
        to.field("Platform", &platform);
    })
}
