//! Which agent a store belongs to: the name, and for a program a short hash of its command line.

use std::fmt::{self, Write as _};

use sha2::{Digest as _, Sha256};

/// The file of the demo agent; earlier releases kept the tasks of all agents there.
pub(super) const DEMO_FILE: &str = "./nuncio.db";

/// How many bytes of a name the file has.
const LONGEST: usize = 60;

/// The identity of an agent in a store. The store keeps the identity as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    /// The name in the card.
    pub(super) name: String,
    /// The hash of the command line; `None` for the demo agent.
    pub(super) command: Option<String>,
    /// Whether the user chose the name, by `--name` or `--card`.
    pub(super) is_chosen: bool,
}

impl Identity {
    /// The demo agent under its own name.
    pub(super) fn demo() -> Self {
        Self { name: nuncio_demo::name().to_owned(), command: None, is_chosen: false }
    }

    /// The default database. Agents that are named after a program have a hash in the name of the file: `wc -w` and
    /// `wc -l` are two agents. A name that the user chose is the name of the file.
    pub(super) fn file(&self) -> String {
        match &self.command {
            Some(hash) if !self.is_chosen => file_of(&self.name, &format!("-{hash}")),
            _ => self.file_without_hash(),
        }
    }

    /// The file that earlier releases named after the agent alone.
    pub(super) fn file_without_hash(&self) -> String {
        if self.name == nuncio_demo::name() { DEMO_FILE.to_owned() } else { file_of(&self.name, "") }
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.command {
            Some(hash) => write!(f, "{} (command {hash})", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// A hash of the words of a command line. `kind` is the flag that runs them. 32 bits tell the programs of a folder
/// apart and say nothing about secrets among the arguments.
pub(super) fn hash(kind: &str, words: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for word in [kind].iter().chain(words) {
        hasher.update((word.len() as u64).to_le_bytes());
        hasher.update(word);
    }
    hasher.finalize().iter().take(4).fold(String::new(), |mut text, byte| {
        // Writing to a text does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The file for a name: in lower case, with a hyphen for each run of other characters than letters and digits of any
/// script, `.` and `_`.
fn file_of(agent: &str, end: &str) -> String {
    let mut name = String::new();
    for letter in agent.to_lowercase().chars() {
        let is_plain = letter.is_alphanumeric() || "._".contains(letter) && !name.is_empty();
        match if is_plain { letter } else { '-' } {
            '-' if name.is_empty() || name.ends_with('-') => {}
            letter if name.len() + letter.len_utf8() <= LONGEST => name.push(letter),
            _ => break,
        }
    }
    match name.trim_end_matches(['-', '.']) {
        "" => format!("./agent{end}.db"),
        name => format!("./{name}{end}.db"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_named_after_its_agent() {
        for (agent, file) in [
            (nuncio_demo::name(), "./nuncio.db"),
            ("wc", "./wc.db"),
            ("Ada's  Planner v1.2", "./ada-s-planner-v1.2.db"),
            ("../../etc/passwd", "./etc-passwd.db"),
            ("日本", "./日本.db"),
            ("Übersetzer №1", "./übersetzer-1.db"),
            ("✓", "./agent.db"),
            (".hidden", "./hidden.db"),
            ("- x -", "./x.db"),
        ] {
            let identity = Identity { name: agent.to_owned(), ..Identity::demo() };
            assert_eq!(identity.file(), file);
        }
        assert!(file_of(&"本".repeat(500), "").len() < 80);
    }

    #[test]
    fn command_lines_have_identities_of_their_own() {
        let lines = [
            hash("exec", &["wc", "-w"]),
            hash("exec", &["wc", "-l"]),
            hash("jsonl", &["wc", "-w"]),
            hash("exec", &["wc -w"]),
            hash("exec", &["wc-", "w"]),
        ];
        for (at, one) in lines.iter().enumerate() {
            assert!(one.len() == 8 && !lines[..at].contains(one), "{lines:?}");
        }
        // A stored identity must not change from release to release.
        assert_eq!(lines[0], "19129bda");
        let identity = |is_chosen| Identity { name: "wc".into(), command: Some(lines[0].clone()), is_chosen };
        assert_eq!(identity(false).file(), format!("./wc-{}.db", lines[0]));
        assert_eq!(identity(true).file(), "./wc.db");
        assert_eq!(identity(true).to_string(), format!("wc (command {})", lines[0]));
    }
}
