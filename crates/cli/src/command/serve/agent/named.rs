//! The name of an agent that is a program: the name of the program, or of the script if the program is an
//! interpreter.

use std::path::Path;

/// Interpreters: the agent is named after the script.
const INTERPRETERS: [&str; 13] =
    ["python", "pypy", "node", "nodejs", "deno", "bun", "ruby", "perl", "php", "lua", "bash", "sh", "zsh"];

/// How the files of scripts end.
const SCRIPTS: [&str; 13] = ["py", "js", "mjs", "cjs", "ts", "mts", "rb", "pl", "php", "lua", "sh", "bash", "zsh"];

/// The name for a program and its arguments. Only the name of a script is taken from the arguments.
pub(super) fn after(words: &[&str]) -> String {
    let Some((command, arguments)) = words.split_first() else { return "sh".to_owned() };
    let name = Path::new(command).file_name().map_or((*command).into(), |name| name.to_string_lossy());
    let bare = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let script = || {
        // Code or a module in the place of a script.
        let mut words = arguments.iter().take_while(|word| !["-c", "-e", "-m"].contains(word)).map(Path::new);
        let is_script = |path: &&Path| path.extension().is_some_and(|end| SCRIPTS.iter().any(|known| end == *known));
        words.find(is_script)?.file_stem()
    };
    match script().filter(|_| INTERPRETERS.contains(&bare)) {
        Some(script) => script.to_string_lossy().into_owned(),
        None => name.into_owned(),
    }
}

/// The name for a line for a shell: the name of the first program if the line is a plain command.
pub(super) fn after_line(line: &str) -> String {
    let words: Vec<_> = line.split_whitespace().collect();
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./+".contains(letter);
    if line.chars().all(|letter| is_plain(letter) || letter == ' ') { after(&words) } else { "sh".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_lends_its_name() {
        for (line, name) in [
            ("python3 planner.py", "planner"),
            ("/usr/bin/python3.12 -u ./agents/planner.py --fast x.js", "planner"),
            ("node planner.mjs", "planner"),
            ("python3 -m http.server", "python3"),
            ("python3 -c code x.py", "python3"),
            ("wc -w", "wc"),
            ("/usr/bin/wc notes.py", "wc"),
            ("planner.py", "planner.py"),
        ] {
            assert_eq!(after(&line.split(' ').collect::<Vec<_>>()), name, "{line}");
        }
    }

    #[test]
    fn a_line_that_is_more_than_a_program_is_the_shells() {
        assert_eq!(after_line("python3 planner.py"), "planner");
        assert_eq!(after_line("wc -w"), "wc");
        for line in ["KEY=secret planner", "read -r line; echo hi", "a | b"] {
            assert_eq!(after_line(line), "sh", "{line}");
        }
    }
}
