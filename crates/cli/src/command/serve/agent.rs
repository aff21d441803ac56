//! The served agent and its card.

mod named;

use nuncio_adapters::{Exec, JsonLines, Program, ProgramError, User};
use nuncio_demo::{Capability, Demo, DemoOptions};
use nuncio_engine::{Engine, EngineBuilder, Idempotency};
use nuncio_model::{
    AgentCard,
    card::{AgentExtension, AgentSkill},
};

use super::{
    identity::{self, Identity},
    limits,
    settings::Settings,
};
use crate::{args::duration, command::card_get::validate, connect::quoted, error::CliError, sealed};

/// The builder of an engine, the card, and the description of the agent in the banner.
pub(super) struct Chosen {
    pub(super) engine: EngineBuilder,
    pub(super) card: AgentCard,
    pub(super) about: String,
    /// Which agent the store belongs to.
    pub(super) identity: Identity,
}

pub(super) fn choose(settings: &Settings, has_callers: bool) -> Result<Chosen, CliError> {
    let options = options(settings)?;
    let program = |name: &'static str| settings.values(name).map(|values| program(settings, name, values)).transpose();
    let (engine, mut card, about, command, extend): (_, _, _, _, fn(AgentCard) -> AgentCard) =
        match (program("exec")?, program("jsonl")?) {
            (Some(_), Some(_)) => {
                return Err(CliError::usage("--exec and --jsonl cannot both be").with_hint(
                    "--exec is for programs that read and write text, --jsonl for those that speak the protocol",
                ));
            }
            (Some(Named { program, name, hash }), None) => {
                let (card, about) = program_card(&name, &["text/plain"], "runs");
                let mut exec = Exec::new(program);
                if let Some(delimiter) = settings.get("chunk") {
                    exec = exec.with_delimiter(unescaped(delimiter));
                }
                (Engine::builder(exec), card, about, Some(hash), std::convert::identity)
            }
            (None, Some(Named { program, name, hash })) => {
                if settings.get("chunk").is_some() {
                    return Err(useless(
                        settings,
                        "chunk",
                        "it cuts the output of --exec; a program of --jsonl says its pieces",
                    ));
                }
                let (card, about) = program_card(&name, &[], "talks to");
                (Engine::builder(JsonLines::new(program)), card, about, Some(hash), std::convert::identity)
            }
            (None, None) if !settings.command.is_empty() => {
                return Err(CliError::usage("a program is given, but not how to run it")
                    .with_hint("say --exec -- CMD, or --jsonl -- CMD"));
            }
            (None, None) => {
                if settings.get("chunk").is_some() {
                    return Err(useless(
                        settings,
                        "chunk",
                        "it cuts the output of --exec, and there is no such program",
                    ));
                }
                if settings.switch("resume")? {
                    return Err(useless(settings, "resume", "it is for programs, and there is none to run again"));
                }
                if settings.get("run-as").is_some() {
                    return Err(useless(settings, "run-as", "it is the user of a program, and there is none"));
                }
                let (card, about) = (nuncio_demo::card(&options), "the demo agent".to_owned());
                (Engine::builder(Demo::new()), card, about, None, nuncio_demo::extended_card)
            }
        };
    if let Some(path) = settings.get("card") {
        card = read_card(path)?;
    }
    declare(&mut card, &options);
    if let Some(name) = text(settings, "name")? {
        name.clone_into(&mut card.name);
    }
    if let Some(description) = text(settings, "description")? {
        description.clone_into(&mut card.description);
    }
    let mut engine = engine;
    if has_callers {
        if card.signatures.is_empty() {
            card.capabilities.extended_agent_card.get_or_insert(true);
        }
        // Made last, of all that is said in public.
        engine = engine.extended_card(extend(card.clone()));
    }
    let is_chosen = settings.get("name").or(settings.get("card")).is_some();
    let identity = Identity { name: card.name.clone(), command, is_chosen };
    let engine = engine
        .card(card.clone())
        .store_owner(identity.to_string())
        .limits(limits::engine(settings)?)
        .cancel_is_idempotent(settings.switch("idempotent-cancel")?)
        .idempotency(settings.parsed("idempotency", idempotency)?.unwrap_or_default());
    Ok(Chosen { engine, card, about, identity })
}

/// A text of the card, if it is set. A card with an empty text is not valid.
fn text<'a>(settings: &'a Settings, name: &str) -> Result<Option<&'a str>, CliError> {
    match settings.get(name) {
        Some(text) if text.trim().is_empty() => Err(settings
            .wrong(name, &format!("it is empty, and a card without a {name} is not valid"))
            .with_hint(format!("say one, or leave --{name} out for the agent's own"))),
        text => Ok(text),
    }
}

/// A setting that would do nothing here.
fn useless(settings: &Settings, name: &str, reason: &str) -> CliError {
    settings.wrong(name, reason).with_hint(format!("say --exec -- CMD, or leave --{name} out"))
}

fn idempotency(text: &str) -> Result<Idempotency, String> {
    match text.trim() {
        "off" => Ok(Idempotency::Off),
        window => match duration(window) {
            Ok(window) if window.is_zero() => Err("a window of no length; say `off`".to_owned()),
            Ok(window) => Ok(Idempotency::Within(window)),
            Err(reason) => Err(format!("{reason}, or `off`")),
        },
    }
}

fn options(settings: &Settings) -> Result<DemoOptions, CliError> {
    let without = settings
        .list("without")
        .into_iter()
        .map(|name| name.trim().parse::<Capability>().map_err(|reason| settings.wrong("without", &reason)));
    let required = extensions(settings, "require-extension")?;
    let mut optional = extensions(settings, "extension")?;
    optional.retain(|uri| !required.contains(uri));
    Ok(DemoOptions { without: without.collect::<Result<_, _>>()?, extensions: optional, required_extensions: required })
}

/// The URIs of a setting, each of which a header can name.
fn extensions(settings: &Settings, name: &str) -> Result<Vec<String>, CliError> {
    let read = |uri: &str| match uri.trim() {
        "" => Err("an extension without a URI cannot be named by a client".to_owned()),
        uri if !uri.chars().all(|letter| letter.is_ascii_graphic()) => {
            Err(format!("`{uri}` is no URI: no header of a client can name it"))
        }
        uri => Ok(uri.to_owned()),
    };
    let refuse = |reason: String| {
        let hint =
            format!("it is a URI such as https://example.com/ext; one --{name} for each, or commas between them");
        settings.wrong(name, &reason).with_hint(hint)
    };
    let mut uris = Vec::new();
    for uri in settings.list(name) {
        let uri = read(uri).map_err(refuse)?;
        if !uris.contains(&uri) {
            uris.push(uri);
        }
    }
    Ok(uris)
}

/// A program, the name of its agent, and the hash of its command line.
struct Named {
    program: Program,
    name: String,
    hash: String,
}

/// The program of `--exec` or `--jsonl`: what stands behind `--`, a list in a file, or a line for a shell.
fn program(settings: &Settings, name: &str, values: &[String]) -> Result<Named, CliError> {
    let line = values.first().filter(|line| !line.is_empty());
    let whole = |command: &String, arguments: &[String]| {
        let words: Vec<_> = [command].into_iter().chain(arguments).map(String::as_str).collect();
        let program = finish(settings, Program::new(command).with_args(arguments))?;
        Ok(Named { program, name: named::after(&words), hash: identity::hash(name, &words) })
    };
    match (&settings.command[..], values, line) {
        ([command, arguments @ ..], _, None) => whole(command, arguments),
        ([_, ..], _, Some(_)) => {
            Err(CliError::usage(format!("--{name} has a command line, and another program stands behind --")))
        }
        ([], [command, arguments @ ..], _) if !arguments.is_empty() => whole(command, arguments),
        ([], _, Some(line)) => Ok(Named {
            program: finish(settings, Program::shell(line))?,
            name: named::after_line(line),
            hash: identity::hash(&format!("{name} of a shell"), &[line]),
        }),
        ([], _, None) => Err(CliError::usage(format!("--{name} needs a program"))
            .with_hint(format!("put it at the end: nuncio serve --{name} -- CMD"))),
    }
}

fn finish(settings: &Settings, program: Program) -> Result<Program, CliError> {
    let mut program = program.with_limits(limits::program(settings)?);
    if settings.switch("resume")? {
        program = program.with_resume();
    }
    if let Some(user) = settings.parsed("run-as", |text| text.parse::<User>().map_err(|error| error.to_string()))? {
        program = program.with_user(user);
    }
    // The secrets of the server are none of the program's business.
    for secret in sealed::VARIABLES.into_iter().chain([sealed::PIPE]) {
        program = program.without_env(secret);
    }
    program.check().map_err(|error| match error {
        ProgramError::User(_) => settings
            .wrong("run-as", &error.to_string())
            .with_hint("start the server as root, or leave --run-as out and start it as this user"),
        ProgramError::Interpreter { ref interpreter, .. } => {
            CliError::usage(error.to_string()).with_hint(if interpreter.ends_with('\r') {
                "write the file with line ends of Unix: sed -i 's/\\r$//' FILE"
            } else {
                "install the interpreter, or name another in the first line"
            })
        }
        _ => CliError::usage(error.to_string()).with_hint("check the name, the PATH and the file's permissions"),
    })?;
    Ok(program)
}

/// The card of a program. The card does not show the arguments, which may contain secrets.
fn program_card(name: &str, modes: &[&str], verb: &str) -> (AgentCard, String) {
    let description = format!("Hands each message to the program {name}.");
    let mut card = AgentCard::new(name, description);
    let own = |modes: &[&str]| modes.iter().map(|mode| (*mode).to_owned()).collect();
    card.default_input_modes = own(if modes.is_empty() { &["*/*"] } else { modes });
    card.default_output_modes = own(&["text/plain", "application/json", "application/octet-stream"]);
    let skill =
        AgentSkill::new("run", format!("Run {name}"), format!("Gives a message to {name} and streams its output."));
    (card.with_skill(skill.with_tags(["program"])), format!("{verb} the program {name}"))
}

fn read_card(path: &str) -> Result<AgentCard, CliError> {
    let wrong = |reason: String| CliError::usage(format!("--card {path}: {reason}"));
    let document = std::fs::read(path).map_err(|error| {
        wrong(error.to_string())
            .with_hint("name a file such as `nuncio card get -a REF -o json` prints, or leave --card out")
    })?;
    // Where the agent is reached is no matter of the file.
    let mut mistakes = validate::document(&document).mistakes;
    mistakes.retain(|mistake| !mistake.starts_with("supportedInterfaces"));
    if !mistakes.is_empty() {
        return Err(
            wrong(mistakes.join("; ")).with_hint(format!("`nuncio card get --validate {}` checks it", quoted(path)))
        );
    }
    let mut card = nuncio_wire::card::decode(&document)
        .map_err(|error| wrong(error.message().replace("the agent's answer", "the card")))?;
    if card.name.is_empty() {
        return Err(wrong("it has no name".to_owned()));
    }
    // The server sets the addresses, except in a signed card.
    if card.signatures.is_empty() {
        card.supported_interfaces.clear();
    }
    Ok(card)
}

/// Turns capabilities off and declares extensions.
fn declare(card: &mut AgentCard, options: &DemoOptions) {
    for capability in &options.without {
        match capability {
            Capability::Streaming => card.capabilities.streaming = Some(false),
            Capability::Push => card.capabilities.push_notifications = Some(false),
            Capability::ExtendedCard => card.capabilities.extended_agent_card = Some(false),
            _ => {}
        }
    }
    let optional = options.extensions.iter().map(|uri| (uri, false));
    for (uri, required) in optional.chain(options.required_extensions.iter().map(|uri| (uri, true))) {
        if let Some(known) = card.capabilities.extensions.iter_mut().find(|known| known.uri == *uri) {
            known.required |= required;
        } else {
            let extension = AgentExtension { uri: uri.clone(), required, ..AgentExtension::default() };
            card.capabilities.extensions.push(extension);
        }
    }
}

/// `\n`, `\t`, `\0` and `\\` in a delimiter.
fn unescaped(text: &str) -> String {
    text.replace("\\\\", "\u{0}\\")
        .replace("\\n", "\n")
        .replace("\\t", "\t")
        .replace("\\0", "\0")
        .replace("\u{0}\\", "\\")
}
