//! Files of flag names and values, as JSON or flat YAML: what else `--config` takes.

use std::path::Path;

use nuncio_model::Value;

use super::{dotenv::Entry, variable};

/// Whether a file has the names of flags, by its extension.
pub(super) fn is_one(path: &Path) -> bool {
    let extension = path.extension().and_then(|it| it.to_str()).map(str::to_ascii_lowercase);
    matches!(extension.as_deref(), Some("json" | "yaml" | "yml"))
}

/// Reads a file by its extension; `None` for a dotenv file.
pub(super) fn read(path: &Path, text: &str) -> Option<Result<Vec<Entry>, String>> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    let members = match extension.as_str() {
        "json" => serde_json::from_str::<Value>(text).map_err(|error| error.to_string()),
        "yaml" | "yml" => return Some(yaml(text)),
        _ => return None,
    };
    Some(members.and_then(|members| {
        let members = members.as_object().ok_or_else(|| "it is not an object".to_owned())?;
        members.iter().map(|(name, value)| Ok(entry(name, plain(name, value)?, 0))).collect()
    }))
}

/// `name: value` lines and lists of one level; nothing more of YAML.
fn yaml(text: &str) -> Result<Vec<Entry>, String> {
    let mut entries: Vec<Entry> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let bare = line.split(" #").next().unwrap_or_default().trim_end();
        if bare.is_empty() || bare.starts_with('#') || bare == "---" {
            continue;
        }
        let unquoted = |value: &str| value.trim().trim_matches(['"', '\'']).to_owned();
        match (bare.trim_start().strip_prefix("- "), entries.last_mut(), bare.split_once(':')) {
            (Some(item), Some(list), _) if bare.starts_with([' ', '-']) => {
                if !list.value.is_empty() {
                    list.value.push(',');
                }
                list.value.push_str(&unquoted(item));
            }
            (None, _, Some((name, value))) if !bare.starts_with(' ') => {
                let value = unquoted(value.trim().trim_matches(['[', ']']));
                entries.push(entry(name.trim(), value, index + 1));
            }
            _ => return Err(format!("line {} is not `name: value`", index + 1)),
        }
    }
    Ok(entries)
}

fn entry(name: &str, value: String, line: usize) -> Entry {
    Entry { section: None, name: variable(name), value, line }
}

fn plain(name: &str, value: &Value) -> Result<String, String> {
    Ok(match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Result<Vec<_>, _> = items.iter().map(|item| plain(name, item)).collect();
            items?.join(",")
        }
        Value::Object(_) if name == "metadata" => value.to_string(),
        Value::Object(_) => return Err(format!("{name} is an object")),
        other => other.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(file: &str, text: &str) -> Vec<(String, String)> {
        let entries = read(Path::new(file), text).unwrap().unwrap();
        entries.into_iter().map(|entry| (entry.name, entry.value)).collect()
    }

    #[test]
    fn both_formats_say_the_same() {
        let expected = [
            ("A2ACLI_AGENT_CARD".to_owned(), "localhost:1".to_owned()),
            ("A2ACLI_TRANSPORT".to_owned(), "grpc,rest".to_owned()),
        ];
        assert_eq!(values("c.yaml", "# x\nagent-card: \"localhost:1\"\ntransport:\n  - grpc\n  - rest\n"), expected);
        assert_eq!(values("c.json", r#"{"agent-card":"localhost:1","transport":["grpc","rest"]}"#), expected);
        assert!(read(Path::new(".env"), "").is_none());
    }
}
