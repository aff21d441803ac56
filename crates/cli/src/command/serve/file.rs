//! The TOML file of `nuncio serve`: the names of the flags, with `-` or `_`.

use std::{collections::BTreeMap, path::Path};

use nuncio_model::address;
use toml::{Table, Value};

use super::settings::{Kind, SETTINGS, Setting, is_address};
use crate::{
    config::{self, Source, is_exposed, nearest},
    diag,
    error::CliError,
};

type Set = BTreeMap<&'static str, (Vec<String>, Source)>;

/// Reads a file. An unknown key is refused, so that no misspelling is ignored.
pub(super) fn read(path: &Path) -> Result<Set, CliError> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        CliError::usage(format!("cannot read {}: {error}", path.display()))
            .with_hint("name another file by --config or NUNCIO_SERVE_CONFIG, or none")
    })?;
    let set = parse(path, &text)?;
    let is_secret = |(name, (values, _)): (&&str, &(Vec<String>, Source))| {
        *name == "token" || is_address(name) && values.iter().any(|value| !address::secrets(value).is_empty())
    };
    if set.iter().any(is_secret) && is_exposed(path) {
        diag::warn(&format!("{} holds secrets and can be read by others; chmod 600 it", path.display()));
    }
    Ok(set)
}

fn parse(path: &Path, text: &str) -> Result<Set, CliError> {
    let at = path.display();
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
        let message = error.message();
        CliError::usage(format!("{at}, line {line}: {message}")).with_hint(if message.contains("duplicate key") {
            "a setting stands in the file once; take one of them out"
        } else {
            "the file is TOML: `port = 8080`, `host = \"127.0.0.1\"`; `nuncio serve --help` lists the settings"
        })
    })?;
    let mut set = Set::new();
    for (key, value) in table {
        let name = key.replace('_', "-");
        let Some(setting) = SETTINGS.iter().find(|setting| setting.name == name || setting.aliases.contains(&&*name))
        else {
            let error = CliError::usage(format!("{at}: `{key}` is not a setting"));
            if config::SETTINGS.iter().any(|setting| setting.name == name) {
                let variable = config::variable(&name);
                return Err(error.with_hint(format!(
                    "it is one of the commands that call agents: give them {variable}, in the environment or a .env file"
                )));
            }
            return Err(match nearest(&name, SETTINGS.iter().map(|setting| setting.name)) {
                Some(other) => error.with_hint(format!("did you mean `{other}`?")),
                None => error.with_hint("`nuncio serve --help` lists the settings"),
            });
        };
        if let (true, Value::Table(callers)) = (setting.name == "token", &value) {
            check_callers(&at, callers)?;
        }
        let values = values(setting, value).map_err(|reason| {
            CliError::usage(format!("{at}: {key} {reason}"))
                .with_hint(format!("`nuncio serve --help` says what {} is", setting.name))
        })?;
        let line = line_of(text, &key);
        set.insert(setting.name, (values, Source::File { path: path.to_owned(), section: None, line }));
    }
    Ok(set)
}

fn values(setting: &Setting, value: Value) -> Result<Vec<String>, String> {
    match (setting.kind, value) {
        (Kind::List | Kind::Program, Value::Array(items)) => items.into_iter().map(plain).collect(),
        (Kind::List, Value::Table(entries)) if setting.name == "token" => {
            entries.into_iter().map(|(name, secret)| token(&name, secret)).collect()
        }
        (Kind::List, Value::Table(entries)) if setting.name == "retention" => rules(entries),
        (Kind::Switch, value @ Value::Boolean(_)) => Ok(vec![plain(value)?]),
        (Kind::Switch, _) => Err("must be true or false".to_owned()),
        (_, Value::Array(_)) => Err("must be one value, not a list".to_owned()),
        (_, Value::String(text)) => Ok(vec![text]),
        (Kind::One | Kind::Program, value) if !setting.is_number() => Err(match plain(value) {
            Ok(value) => format!("must be a text, \"{value}\""),
            Err(_) => "must be a text in quotes".to_owned(),
        }),
        (_, value) => Ok(vec![plain(value)?]),
    }
}

/// Refuses a setting that was written behind `[token]`: TOML makes the setting a caller.
fn check_callers(at: &impl std::fmt::Display, callers: &Table) -> Result<(), CliError> {
    for (key, secret) in callers {
        let name = key.replace('_', "-");
        let is_setting = SETTINGS.iter().any(|it| it.name == name || it.aliases.contains(&&*name));
        let reason = match secret {
            _ if is_setting => "is the name of a setting, and the table `[token]` holds callers",
            Value::String(_) => continue,
            _ => "is no caller: the secret of a caller is a text in quotes",
        };
        return Err(CliError::usage(format!("{at}: `{key}` in `[token]` {reason}"))
            .with_hint("settings stand before the first table, such as `[token]`"));
    }
    Ok(())
}

/// A caller of the table as one is written elsewhere.
fn token(name: &str, secret: Value) -> Result<String, String> {
    if name.contains('=') {
        return Err(format!("has the name `{name}`, and names of callers have no `=`"));
    }
    Ok(format!("{name}={}", plain(secret)?))
}

/// Rules by state, and in tables those of tenants.
fn rules(entries: Table) -> Result<Vec<String>, String> {
    let mut rules = Vec::new();
    for (name, value) in entries {
        match value {
            Value::Table(own) => {
                for (state, time) in own {
                    rules.push(format!("{name}/{state}={}", plain(time)?));
                }
            }
            time => rules.push(format!("{name}={}", plain(time)?)),
        }
    }
    Ok(rules)
}

fn plain(value: Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text),
        Value::Integer(number) => Ok(number.to_string()),
        // `versions = 1.0` is the version 1.0.
        Value::Float(number) => Ok(format!("{number:?}")),
        Value::Boolean(is_on) => Ok(is_on.to_string()),
        other => Err(format!("cannot be a {}", other.type_str())),
    }
}

fn line_of(text: &str, key: &str) -> usize {
    let is_it = |line: &str| {
        let line = line.trim_start().trim_start_matches(['[', '"', '\'']);
        line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(['=', ']', '"', '\'', '.']))
    };
    text.lines().position(is_it).map_or(0, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Set, CliError> {
        parse(Path::new("n.toml"), text)
    }

    #[test]
    fn keys_are_written_either_way_and_values_as_what_they_are() {
        let set =
            read("port = 0\npublic_url = 'https://a'\nexec = ['wc', '-w']\nanonymous = true\n\n[token]\nalice = 's'\n");
        let set = set.unwrap();
        assert_eq!(set["port"].0, ["0"]);
        assert_eq!(read("versions = 1.0").unwrap()["versions"].0, ["1.0"], "not the version 1");
        assert_eq!(set["public-url"].0, ["https://a"]);
        assert_eq!(set["exec"].0, ["wc", "-w"]);
        assert_eq!(set["token"].0, ["alice=s"]);
        assert_eq!(set["public-url"].1.to_string(), "n.toml, line 2");
        assert_eq!(set["token"].1.to_string(), "n.toml, line 6");
    }

    #[test]
    fn rules_are_a_text_a_list_or_tables() {
        let rules = |text| read(text).unwrap()["retention"].0.clone();
        assert_eq!(rules("retention = '30d'"), ["30d"]);
        assert_eq!(rules("retention = ['completed=1d', 'acme/failed=2d']"), ["completed=1d", "acme/failed=2d"]);
        let tables = "[retention]\ncompleted = '1d'\n[retention.acme]\nfailed = '2d'\nended = 'forever'\n";
        assert_eq!(rules(tables), ["acme/ended=forever", "acme/failed=2d", "completed=1d"]);
    }

    #[test]
    fn a_slip_is_refused_and_what_was_meant_is_said() {
        let error = read("prot = 1").unwrap_err();
        assert_eq!(error.message, "n.toml: `prot` is not a setting");
        assert_eq!(error.hint.unwrap(), "did you mean `port`?");
        assert!(read("anonymous = 'x'").unwrap_err().message.contains("true or false"));
        for text in ["name = 5", "store = false", "host = 1.5", "name = 1979-05-27", "exec = 5"] {
            let said = read(text).unwrap_err().message;
            assert!(said.contains("must be a text"), "{said}");
        }
        assert_eq!(read("name = 5").unwrap_err().message, "n.toml: name must be a text, \"5\"");
        assert!(read("drain = 5\nmax-body = 1048576\nport = 1\nmax-turns = 7\nidempotency = 60\n").is_ok());
        let hint = read("agent-card = 'localhost:1'").unwrap_err().hint.unwrap();
        assert!(hint.contains("A2ACLI_AGENT_CARD"), "{hint}");
        let broken = read("port = ").unwrap_err();
        assert!(broken.message.contains("line 1") && broken.hint.unwrap().contains("`port = 8080`"));
        let twice = read("port = 1\nport = 2\n").unwrap_err();
        let hint = twice.hint.unwrap();
        assert!(twice.message.contains("line 2") && hint.contains("take one of them out"), "{} {hint}", twice.message);
    }

    #[test]
    fn a_setting_behind_the_callers_is_refused() {
        for (line, key) in [
            ("port = 8297", "port"),
            ("host = '::'", "host"),
            ("public_url = 'https://a'", "public_url"),
            ("bob = 5", "bob"),
            ("bob.x = 's'", "bob"),
        ] {
            let refused = read(&format!("[token]\nalice = 's'\n{line}\n")).unwrap_err();
            assert!(refused.message.contains(&format!("`{key}` in `[token]` is")), "{}", refused.message);
            assert!(refused.hint.unwrap().contains("settings stand before the first table"));
        }
    }

    #[test]
    fn the_name_of_a_caller_cannot_end_within_itself() {
        let refused = read("[token]\n'a b=c' = 'x'\n").unwrap_err();
        assert_eq!(refused.message, "n.toml: token has the name `a b=c`, and names of callers have no `=`");
        assert_eq!(read("[token]\n'a b' = 'c=x'\n").unwrap()["token"].0, ["a b=c=x"]);
    }
}
