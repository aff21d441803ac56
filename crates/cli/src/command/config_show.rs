//! `nuncio config show`: each setting with its value and source. The command changes nothing.

use std::path::Path;

use clap::Args;
use serde_json::{Value, json};

use super::serve;
use crate::{
    args::ConnectArgs,
    config::{ClientSetting, SETTINGS, Source},
    context::Context,
    error::CliError,
};

#[derive(Debug, Args)]
pub(crate) struct ConfigShowArgs {
    /// Show the settings of `nuncio serve` instead
    #[arg(long)]
    serve: bool,
    /// Show only the settings that are not at their default
    #[arg(long)]
    changed: bool,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

/// A setting with its effective value.
pub(crate) struct Effective {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) source: Source,
    pub(crate) is_secret: bool,
    /// What holds where nothing is set.
    pub(crate) default: &'static str,
}

pub(crate) fn run(context: &Context, args: &ConfigShowArgs) -> Result<(), CliError> {
    let settings = if args.is_of_serve(context.global.config.as_deref()) {
        serve::effective(context)?
    } else {
        SETTINGS.iter().map(|setting| effective(context, args, setting)).collect::<Result<_, _>>()?
    };
    let settings: Vec<_> = settings.into_iter().filter(|it| !args.changed || it.is_changed()).collect();
    let document: Vec<Value> = settings
        .iter()
        .map(|it| json!({"name": it.name, "value": it.shown(), "source": it.source.to_string()}))
        .collect();
    context.output.document(&json!({"settings": document}), |to| {
        for it in &settings {
            to.field(&it.name, &format!("{} ({})", it.shown(), it.source));
        }
    })
}

impl ConfigShowArgs {
    /// Whether the settings of `nuncio serve` are meant: they have files in TOML.
    pub(crate) fn is_of_serve(&self, config: Option<&Path>) -> bool {
        self.serve || config.is_some_and(|path| path.extension().is_some_and(|it| it.eq_ignore_ascii_case("toml")))
    }
}

impl Effective {
    /// Whether the value differs from the default.
    fn is_changed(&self) -> bool {
        self.source != Source::Default && self.value != self.default
    }

    fn shown(&self) -> &str {
        match (self.is_secret, self.value.as_str()) {
            (_, "") => "(none)",
            (true, _) => "***",
            (false, value) => value,
        }
    }
}

/// The effective value of a setting. A value that the commands refuse is refused here, too.
fn effective(context: &Context, args: &ConfigShowArgs, setting: &ClientSetting) -> Result<Effective, CliError> {
    let (value, source) = match given(context, args, setting.name) {
        Some(value) => (value, Source::Flag),
        None => match context.layers.get(setting.name) {
            Some((value, source)) => (value.to_owned(), source.clone()),
            None => (setting.default.to_owned(), Source::Default),
        },
    };
    if source != Source::Default {
        (setting.check)(&value).map_err(|reason| source.refuse(setting.name, &reason))?;
    }
    Ok(Effective {
        name: setting.name.to_owned(),
        value,
        source,
        is_secret: setting.is_secret,
        default: setting.default,
    })
}

/// The value of a flag on this command line.
fn given(context: &Context, args: &ConfigShowArgs, name: &str) -> Option<String> {
    let connect = &args.connect;
    let on = |is_on: bool| is_on.then(|| "true".to_owned());
    let list = |items: &[String]| (!items.is_empty()).then(|| items.join(","));
    match name {
        "agent-card" => connect.agent_card.clone(),
        "endpoint" => connect.endpoint.clone(),
        "transport" => list(&connect.transport),
        "a2a-version" => connect.a2a_version.clone(),
        "file-bytes" => connect.file_bytes.map(|files| files.to_string()),
        "bearer" => connect.bearer.clone(),
        "api-key" => connect.api_key.clone(),
        "auth" => connect.auth.clone(),
        "svc-param" => connect.svc_param.first().map(|(name, value)| format!("{name}:{value}")),
        "trust-origin" => list(&connect.trust_origin),
        "card-auth" => on(connect.card_auth),
        "extension" => list(&connect.extension),
        "tenant" => connect.tenant.clone(),
        "insecure" => on(connect.insecure),
        "output" => context.global.output.map(|format| format!("{format:?}").to_lowercase()),
        "color" => context.global.color.map(|color| format!("{color:?}").to_lowercase()),
        "verbose" => context.layers.get("verbose").is_none().then(|| on(context.global.verbose)).flatten(),
        "debug" => context.layers.get("debug").is_none().then(|| on(context.global.debug)).flatten(),
        _ => None,
    }
}
