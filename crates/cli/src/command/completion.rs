//! `nuncio completion SHELL` (requirement A2ACLI_CLI_002).

use clap::Args;
use clap_complete::Shell;

use crate::{args, error::CliError, output};

#[derive(Debug, Args)]
pub(crate) struct CompletionArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(args: &CompletionArgs) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut args::command(None), "nuncio", &mut script);
    output::plain(&String::from_utf8_lossy(&script))
}
