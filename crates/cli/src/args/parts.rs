//! The flags that make parts of a message. The parts have the order of the flags, independent of their kinds.

use clap::{ArgAction, ArgMatches, Args, Command, Error, FromArgMatches, error::ErrorKind};

/// Part flags in the order of the command line.
#[derive(Debug, Clone, Default)]
pub(crate) struct PartArgs(pub(crate) Vec<PartFlag>);

/// A part flag, and the media type behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PartFlag {
    pub(crate) kind: PartKind,
    pub(crate) value: String,
    pub(crate) media_type: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartKind {
    Text,
    File,
    Data,
}

const FLAGS: [(PartKind, &str, &str, &str, &str); 3] = [
    (PartKind::Text, "text-part", "text", "TEXT", "Add a text; repeatable"),
    (PartKind::File, "file-part", "file", "PATH|URL", "Add a file: a path is read, a URL is sent as it is; repeatable"),
    (PartKind::Data, "data-part", "data", "PATH|JSON|-", "Add JSON from a file, from stdin or inline; repeatable"),
];
const MEDIA_TYPE: &str = "media-type";

impl Args for PartArgs {
    fn augment_args(command: Command) -> Command {
        let media_type = clap::Arg::new(MEDIA_TYPE)
            .long(MEDIA_TYPE)
            .value_name("TYPE")
            .action(ArgAction::Append)
            .help("The media type of the part given just before it");
        FLAGS
            .into_iter()
            .fold(command.next_help_heading("Parts"), |command, (_, name, alias, value, help)| {
                let flag = clap::Arg::new(name).long(name).alias(alias).value_name(value);
                command.arg(flag.action(ArgAction::Append).allow_hyphen_values(true).help(help))
            })
            .arg(media_type)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for PartArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut flags = Vec::new();
        for (kind, name, ..) in FLAGS {
            flags.extend(occurrences(matches, name).map(|(at, value)| (at, Some(kind), value)));
        }
        flags.extend(occurrences(matches, MEDIA_TYPE).map(|(at, value)| (at, None, value)));
        flags.sort_by_key(|(at, ..)| *at);
        let mut parts: Vec<PartFlag> = Vec::new();
        for (_, kind, value) in flags {
            match (kind, parts.last_mut()) {
                (Some(kind), _) => parts.push(PartFlag { kind, value, media_type: None }),
                (None, Some(part)) if part.media_type.is_none() => part.media_type = Some(value),
                (None, _) => {
                    let message = "--media-type must come right behind the part flag that it is for\n";
                    return Err(Error::raw(ErrorKind::MissingRequiredArgument, message));
                }
            }
        }
        Ok(Self(parts))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Each value of a flag, with its position on the command line.
fn occurrences<'a>(matches: &'a ArgMatches, name: &'a str) -> impl Iterator<Item = (usize, String)> + 'a {
    let places = matches.indices_of(name).into_iter().flatten();
    places.zip(matches.get_many::<String>(name).into_iter().flatten().cloned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Vec<PartFlag>, Error> {
        let command = PartArgs::augment_args(Command::new("send"));
        let matches = command.try_get_matches_from(std::iter::once(&"send").chain(arguments))?;
        PartArgs::from_arg_matches(&matches).map(|parts| parts.0)
    }

    #[test]
    fn parts_keep_their_order_and_media_types_their_parts() {
        let parts =
            parse(&["--data", "{}", "--text-part", "a", "--media-type", "text/markdown", "--file", "f", "--text", "b"]);
        let parts: Vec<_> = parts.unwrap().into_iter().map(|part| (part.kind, part.value, part.media_type)).collect();
        let own = str::to_owned;
        assert_eq!(
            parts,
            [
                (PartKind::Data, own("{}"), None),
                (PartKind::Text, own("a"), Some(own("text/markdown"))),
                (PartKind::File, own("f"), None),
                (PartKind::Text, own("b"), None),
            ]
        );
    }

    #[test]
    fn a_media_type_without_a_part_is_refused() {
        assert!(parse(&["--media-type", "a/b", "--text", "x"]).is_err());
        assert!(parse(&["--text", "x", "--media-type", "a/b", "--media-type", "c/d"]).is_err());
    }
}
