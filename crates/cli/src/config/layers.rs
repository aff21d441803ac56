//! The layers of settings below the flags.

use std::{
    collections::BTreeMap,
    env, fmt, fs,
    path::{Path, PathBuf},
};

use super::{
    document, dotenv,
    nearest::nearest as name_near,
    setting::{SETTINGS, variable},
};
use crate::{args::switch, error::CliError, sealed};

/// Where a value is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    Flag,
    Environment(String),
    File { path: PathBuf, section: Option<String>, line: usize },
    Default,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("flag"),
            Self::Environment(name) => write!(f, "environment variable {name}"),
            Self::File { path, section, line } => {
                path.display().fmt(f)?;
                if let Some(section) = section {
                    write!(f, " [{section}]")?;
                }
                if *line > 0 { write!(f, ", line {line}") } else { Ok(()) }
            }
            Self::Default => f.write_str("built in"),
        }
    }
}

impl Source {
    /// The error for a wrong value of this source, with the place to correct the value.
    pub(crate) fn refuse(&self, name: &str, reason: &str) -> CliError {
        match self {
            Self::Flag => {
                CliError::usage(format!("--{name}: {reason}")).with_hint(format!("--help says what --{name} takes"))
            }
            Self::Environment(variable) => CliError::usage(format!("{name} from {self}: {reason}"))
                .with_hint(format!("mend or unset {variable}; --{name} wins over it")),
            Self::File { .. } | Self::Default => CliError::usage(format!("{name} from {self}: {reason}"))
                .with_hint(format!("mend it there; --{name} wins over it")),
        }
    }
}

/// Values from the environment and from files, the strongest layer first.
#[derive(Debug, Default)]
pub(crate) struct Layers {
    stack: Vec<BTreeMap<String, (String, Source)>>,
    /// Files with credentials that others can read.
    pub(crate) exposed: Vec<PathBuf>,
    /// Unknown names, with their positions.
    pub(crate) unknown: Vec<String>,
}

impl Layers {
    /// Reads the environment, the local file and the user's own. `agent` is the reference given as a flag.
    pub(crate) fn load(config: Option<&Path>, agent: Option<&str>) -> Result<Self, CliError> {
        let environment = env::vars().chain(sealed::variables()).filter(|(name, _)| name.starts_with("A2ACLI_"));
        let environment: BTreeMap<_, _> =
            environment.map(|(name, value)| (name.clone(), (value, Source::Environment(name)))).collect();
        let mut layers = Self::default();
        let known = |name: &str| is_setting(name) || name == variable("config");
        let slips = environment.keys().filter(|name| !known(name));
        layers.unknown.extend(slips.map(|name| {
            let what = meant(name).map_or_else(list, |meant| format!("did you mean `{meant}`?"));
            format!("environment variable {name} is not a setting; {what}")
        }));
        layers.stack.push(environment);
        let named = config.map(Path::to_owned);
        if let Some(path) =
            named.as_ref().filter(|path| path.extension().is_some_and(|it| it.eq_ignore_ascii_case("toml")))
        {
            return Err(CliError::usage(format!(
                "{} is a TOML file, and those are for `nuncio serve` alone",
                path.display()
            ))
            .with_hint(
                "settings of other commands are in a dotenv file (A2ACLI_AGENT_CARD=localhost:8080), in .json or .yaml",
            ));
        }
        let files = [named.clone().or_else(nearest), user_file("config.yaml"), user_file(".env")];
        let files: Vec<_> = files
            .into_iter()
            .flatten()
            .filter_map(|path| match fs::read_to_string(&path) {
                Ok(text) => Some(Ok((path, text))),
                Err(error) if named.as_ref() == Some(&path) => {
                    let error = CliError::usage(format!("cannot read {}: {error}", path.display()));
                    Some(Err(error.with_hint("name another file by --config, or none: then the nearest .env is read")))
                }
                Err(_) => None,
            })
            .collect::<Result<_, _>>()?;
        // The agent that a section is for may itself be named by a weaker layer.
        let mut parsed = Vec::new();
        for (path, text) in files {
            parsed.push((read(&path, &text)?, path));
        }
        let general = |entries: &[dotenv::Entry]| {
            let mut found = entries.iter().filter(|it| it.section.is_none() && it.name == variable("agent-card"));
            found.next_back().map(|entry| entry.value.clone())
        };
        let agent = agent
            .map(str::to_owned)
            .or_else(|| layers.value("agent-card").map(str::to_owned))
            .or_else(|| parsed.iter().find_map(|(entries, _)| general(entries)));
        for (entries, path) in parsed {
            let is_named = named.as_ref() == Some(&path);
            layers.unknown.extend(unknown(&entries, &path, is_named));
            layers.add(entries, &path, agent.as_deref());
        }
        Ok(layers)
    }

    fn add(&mut self, entries: Vec<dotenv::Entry>, path: &Path, agent: Option<&str>) {
        let mut layer = BTreeMap::new();
        let (general, special): (Vec<_>, Vec<_>) = entries.into_iter().partition(|entry| entry.section.is_none());
        let special = special.into_iter().filter(|entry| is_same(entry.section.as_deref(), agent));
        let mut has_secret = false;
        for entry in general.into_iter().chain(special) {
            has_secret |= ["bearer", "api-key", "auth", "svc-param"].iter().any(|it| variable(it) == entry.name);
            let source = Source::File { path: path.to_owned(), section: entry.section, line: entry.line };
            layer.insert(entry.name, (entry.value, source));
        }
        if has_secret && is_exposed(path) {
            self.exposed.push(path.to_owned());
        }
        self.stack.push(layer);
    }

    /// The value of a setting without its flag. An empty value counts as unset.
    pub(crate) fn get(&self, flag: &str) -> Option<(&str, &Source)> {
        let name = variable(flag);
        let mut found = self.stack.iter().filter_map(|layer| layer.get(&name));
        found.next().filter(|(value, _)| !value.is_empty()).map(|(value, source)| (value.as_str(), source))
    }

    /// The value alone.
    pub(crate) fn value(&self, flag: &str) -> Option<&str> {
        self.get(flag).map(|(value, _)| value)
    }

    /// The parsed value of a setting without its flag. The error for a wrong value names the source.
    pub(crate) fn parsed<T>(
        &self,
        flag: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, CliError> {
        let Some((value, source)) = self.get(flag) else { return Ok(None) };
        parse(value).map(Some).map_err(|reason| source.refuse(flag, &reason))
    }

    /// Whether a switch that was not given is on.
    pub(crate) fn switch(&self, flag: &str) -> Result<Option<bool>, CliError> {
        self.parsed(flag, switch)
    }
}

fn read(path: &Path, text: &str) -> Result<Vec<dotenv::Entry>, CliError> {
    let wrong = |reason: String| CliError::usage(format!("{}: {reason}", path.display()));
    match document::read(path, text) {
        Some(entries) => entries.map_err(wrong),
        None => dotenv::read(text).map_err(|(line, reason)| wrong(format!("line {line} {reason}"))),
    }
}

/// A misspelt name has no effect: warn. A `.env` file that was found by search may have variables of other programs.
fn unknown(entries: &[dotenv::Entry], path: &Path, is_named: bool) -> Vec<String> {
    let prefix = variable("");
    let slips =
        entries.iter().filter(|entry| !is_setting(&entry.name) && (is_named || entry.name.starts_with(&prefix)));
    slips
        .map(|entry| {
            let source = Source::File { path: path.to_owned(), section: entry.section.clone(), line: entry.line };
            // Files of flag names have these; the others have variables.
            let shown = |name: &str| {
                if document::is_one(path) {
                    name.strip_prefix(&prefix).unwrap_or(name).to_ascii_lowercase().replace('_', "-")
                } else {
                    name.to_owned()
                }
            };
            let what = meant(&entry.name).map_or_else(list, |meant| format!("did you mean `{}`?", shown(&meant)));
            format!("{source}: {} is not a setting; {what}", shown(&entry.name))
        })
        .collect()
}

/// Whether this is the variable of a setting.
fn is_setting(name: &str) -> bool {
    SETTINGS.iter().any(|setting| variable(setting.name) == name)
}

/// The variable that a misspelt name probably means.
fn meant(slip: &str) -> Option<String> {
    let prefix = variable("");
    let slip = slip.to_ascii_uppercase().replace('-', "_");
    let names: Vec<_> = SETTINGS.iter().map(|setting| variable(setting.name)).collect();
    let ends = names.iter().filter_map(|name| name.strip_prefix(&prefix));
    name_near(slip.strip_prefix(&prefix).unwrap_or(&slip), ends).map(|end| format!("{prefix}{end}"))
}

/// Where the names of all settings are.
fn list() -> String {
    "`nuncio config show` lists them".to_owned()
}

fn is_same(section: Option<&str>, agent: Option<&str>) -> bool {
    let bare = |text: &str| text.trim_end_matches('/').to_ascii_lowercase();
    section.zip(agent).is_some_and(|(section, agent)| bare(section) == bare(agent))
}

/// The `.env` of the working directory or of the nearest parent directory.
fn nearest() -> Option<PathBuf> {
    let here = env::current_dir().ok()?;
    here.ancestors().map(|folder| folder.join(".env")).find(|path| path.is_file())
}

fn user_file(name: &str) -> Option<PathBuf> {
    let base = env::var_os("XDG_CONFIG_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
    let base = base.or_else(|| Some(env::home_dir()?.join(".config")))?;
    Some(base.join("a2a-cli").join(name))
}

/// Whether a file can be read by others than its owner.
#[cfg(unix)]
pub(crate) fn is_exposed(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o077 != 0)
}

/// Whether a file can be read by others than its owner.
#[cfg(not(unix))]
pub(crate) fn is_exposed(_: &Path) -> bool {
    false
}
