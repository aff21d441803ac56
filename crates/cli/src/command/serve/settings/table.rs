//! The table of the settings of `nuncio serve`, for flags, variables and files.

/// A setting.
pub(in crate::command::serve) struct Setting {
    /// The flag, the key in a file, and the end of the variable.
    pub(in crate::command::serve) name: &'static str,
    pub(in crate::command::serve) aliases: &'static [&'static str],
    pub(in crate::command::serve) kind: Kind,
    /// Whether it must be more than 0, as nothing could be done otherwise. With others 0 is a limit like any other, or
    /// turns something off: no message waits, no webhook, no cache, no grace.
    pub(in crate::command::serve) is_positive: bool,
    /// What stands for the value in the help.
    pub(in crate::command::serve) value: &'static str,
    /// The default.
    pub(in crate::command::serve) default: &'static str,
    pub(in crate::command::serve) heading: &'static str,
    pub(in crate::command::serve) help: &'static str,
}

impl Setting {
    /// Whether a number without quotes can be meant: a count, or seconds, or bytes.
    pub(in crate::command::serve) fn is_number(&self) -> bool {
        matches!(self.value, "DURATION" | "N" | "PORT" | "SIZE" | "WINDOW")
    }
}

/// What values a setting has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::command::serve) enum Kind {
    Switch,
    One,
    List,
    /// A command line for a shell, or none where the command comes behind `--`.
    Program,
}

const fn row(
    kind: Kind,
    name: &'static str,
    value: &'static str,
    default: &'static str,
    help: &'static str,
) -> Setting {
    Setting { name, aliases: &[], kind, is_positive: false, value, default, heading: "", help }
}

const fn positive(name: &'static str, value: &'static str, default: &'static str, help: &'static str) -> Setting {
    Setting { is_positive: true, ..row(One, name, value, default, help) }
}

const fn headed<const N: usize>(heading: &'static str, rows: [Setting; N]) -> [Setting; N] {
    let mut rows = rows;
    let mut index = 0;
    while index < N {
        rows[index].heading = heading;
        index += 1;
    }
    rows
}

use Kind::{List, One, Program, Switch};

const AGENT: [Setting; 18] = headed(
    "Agent",
    [
        row(
            Program,
            "exec",
            "LINE",
            "",
            "Run a program for each message: text in, text out; --exec -- CMD, or a line for sh",
        ),
        row(
            Program,
            "jsonl",
            "LINE",
            "",
            "Run a program for each turn that speaks JSON lines; --jsonl -- CMD, or a line for sh",
        ),
        row(One, "chunk", "DELIMITER", "each line", "Cut the output of --exec at this delimiter"),
        row(Switch, "resume", "", "", "Run a program again for a turn that a crash cut off"),
        row(
            One,
            "run-as",
            "USER",
            "the server's user",
            "Run programs as this user, NAME, UID:GID or NAME:GROUP; the server must run as root",
        ),
        row(One, "name", "NAME", "by the agent", "The agent's name in its card"),
        row(One, "description", "TEXT", "by the agent", "The agent's description in its card"),
        row(One, "card", "FILE", "", "A card in JSON, in the place of the generated one"),
        row(List, "without", "CAPABILITY", "", "Turn off streaming, push or extended-card; repeatable"),
        row(List, "extension", "URI", "", "Declare an extension; repeatable"),
        row(List, "require-extension", "URI", "", "Declare an extension that clients must know; repeatable"),
        positive("turn-timeout", "DURATION", "none", "Fail a turn whose program takes longer"),
        positive("silence-timeout", "DURATION", "none", "Fail a turn whose program writes nothing for longer"),
        row(
            One,
            "program-grace",
            "DURATION",
            "1s",
            "How long a program may go on after it was told to stop; below two thirds of --cancel-grace",
        ),
        positive("max-processes", "N", "256", "Programs at the same time; a turn beyond waits for a place"),
        positive("max-line", "SIZE", "10M", "The longest line or piece of a program's output"),
        positive("max-output", "SIZE", "1G", "The output of one turn of a program"),
        row(One, "cancel-grace", "DURATION", "2s", "How long a turn may go on after a cancel"),
    ],
);

const ADDRESS: [Setting; 12] = headed(
    "Address",
    [
        row(One, "host", "HOST", "127.0.0.1", "The address to listen on"),
        row(One, "port", "PORT", "8080", "The port to listen on; 0 for one that is free"),
        Setting {
            aliases: &["advertise-address"],
            ..row(One, "public-url", "URL", "as the client calls it", "The address that the card gives")
        },
        row(
            List,
            "bindings",
            "BINDING",
            "jsonrpc,rest",
            "The bindings that the card lists, of jsonrpc, rest and grpc; all three are served in any case; repeatable",
        ),
        row(
            One,
            "grpc-url",
            "URL",
            "as the other bindings",
            "The address of gRPC in the card, host:port or https://HOST:PORT; the card then lists gRPC",
        ),
        row(
            Switch,
            "trust-forwarded",
            "",
            "",
            "Take the address from the headers of a proxy, which all callers come through",
        ),
        row(
            List,
            "allowed-host",
            "HOST",
            "",
            "Answer for this host, too, or * for any; without tokens only the names of this machine are answered for; \
             repeatable",
        ),
        row(List, "cors-origin", "ORIGIN", "", "Let pages of this origin call, or * for any; repeatable"),
        row(
            List,
            "versions",
            "VERSION",
            "all that are built in",
            "Speak these versions of the protocol, 1.0,0.3 for example; repeatable",
        ),
        row(Switch, "lenient-version", "", "", "Take calls of version 1.0 that do not say which version they are"),
        row(
            One,
            "file-bytes",
            "FORM",
            "auto",
            "How the bytes of files are sent in 0.3 and 0.2 over gRPC and REST: raw, base64 as the Python SDK does, or auto, by the client's User-Agent",
        ),
        row(One, "card-max-age", "DURATION", "5m", "How long clients may keep the card"),
    ],
);

const CALLERS: [Setting; 5] = headed(
    "Callers",
    [
        row(
            List,
            "token",
            "NAME=SECRET",
            "",
            "Let a caller in by a token; repeatable; others on this machine see flags, but not variables and files",
        ),
        row(Switch, "anonymous", "", "", "Let callers without a token in, too"),
        Setting {
            aliases: &["tenant"],
            ..row(
                List,
                "tenants",
                "TENANT",
                "",
                "Answer for this tenant, too, or any for every tenant; a path that begins with another is 404; repeatable",
            )
        },
        row(Switch, "allow-open", "", "", "Listen beyond this machine without tokens, behind something that asks"),
        row(Switch, "allow-private-webhooks", "", "", "Call webhooks at private addresses"),
    ],
);

const TASKS: [Setting; 12] = headed(
    "Tasks",
    [
        row(
            One,
            "store",
            "STORE",
            "sqlite:./nuncio.db",
            "Where tasks are kept: sqlite:PATH, postgres://USER@HOST/DATABASE or memory; by default a file named after \
             the agent",
        ),
        row(Switch, "adopt", "", "", "Take over the tasks of another agent that the database holds"),
        positive(
            "lease",
            "DURATION",
            "10s",
            "How long a node on a shared store may be silent before others take its tasks over",
        ),
        row(
            One,
            "bus",
            "BUS",
            "postgres with such a store, else none",
            "What wakes other nodes on the same store: nats://HOST[,HOST][/PREFIX], tls://..., postgres (that of the store) or none",
        ),
        row(
            One,
            "sqlite-synchronous",
            "WHEN",
            "normal",
            "When a commit is on the disk: full waits for it, normal does not",
        ),
        row(One, "store-cache", "SIZE", "64M", "Memory for recent tasks"),
        row(
            List,
            "retention",
            "RULE",
            "forever",
            "Delete tasks so long after their last status: completed=30d,failed=90d, or 30d for all that have ended; \
             TENANT/failed=1y for a tenant; repeatable",
        ),
        row(
            One,
            "log-retention",
            "DURATION",
            "10m",
            "How long the events of a task that has ended or waits can be resumed; in memory until the task ends by default",
        ),
        positive("interrupted-expiry", "DURATION", "none", "Fail a task that has waited for its client for longer"),
        positive("stall-timeout", "DURATION", "none", "Fail a task whose agent is at work and says nothing for longer"),
        row(Switch, "idempotent-cancel", "", "", "Canceling twice gives the task instead of an error"),
        row(
            One,
            "idempotency",
            "WINDOW",
            "off",
            "How long a message that is sent again is known by its id and gets the answer of the first; or off",
        ),
    ],
);

const LIMITS: [Setting; 34] = headed(
    "Limits",
    [
        row(One, "drain", "DURATION", "5s", "How long requests and turns may go on after a signal"),
        positive("max-body", "SIZE", "16M", "The size of a request; more is 413"),
        positive("body-timeout", "DURATION", "30s", "How long a request's body may take"),
        positive("head-timeout", "DURATION", "30s", "How long a request's head may take, and a connection be idle"),
        positive("max-head", "SIZE", "16K", "The size of a request's head; more is 431"),
        positive("max-requests", "N", "10000", "Requests at the same time; one more is 503"),
        positive("max-streams", "N", "20000", "Open streams; one more is 429"),
        positive("max-bytes", "SIZE", "512M", "Bytes of all requests at the same time; more is 503"),
        positive("max-answer-bytes", "SIZE", "512M", "Bytes of all large answers at the same time; more is 503"),
        positive("max-connections", "N", "20000", "Open connections; more wait"),
        positive("address-connections", "N", "15000", "Open connections of one address; more are closed"),
        positive("failed-logins", "N", "100", "Failed logins of one address in a minute; more are 429"),
        positive("keep-alive", "DURATION", "15s", "How long a stream is silent before it says so"),
        positive("max-turns", "N", "100000", "Turns at the same time; one more is refused"),
        row(One, "max-queued-messages", "N", "64", "Messages that wait behind a turn; one more is refused"),
        row(One, "max-queued", "N", "100000", "Messages that wait behind turns of all tasks; one more is refused"),
        positive("max-held-bytes", "SIZE", "1G", "What messages and tasks at work hold in memory; more is refused"),
        row(One, "max-kept-bytes", "SIZE", "256M", "Memory for readers that are behind; more is read from the store"),
        row(
            One,
            "max-page-bytes",
            "SIZE",
            "4M",
            "What the tasks of a page of a list take; the others are on the next page",
        ),
        positive("max-task-size", "SIZE", "256M", "What a task carries; the agent's word beyond fails it"),
        positive("max-task-events", "N", "1000000", "Events of a task; the agent's word beyond fails it"),
        positive("max-values", "N", "250000", "JSON values in the data and metadata of a message or an event"),
        row(One, "max-webhooks", "N", "100", "Webhooks of one task"),
        positive("webhook-timeout", "DURATION", "15s", "How long one delivery may take"),
        positive("webhook-attempts", "N", "20", "Failures in a row after which a notification is given up"),
        positive("caller-requests", "N", "2500", "Requests of one caller at the same time; one more is 429"),
        positive("caller-bytes", "SIZE", "128M", "Bytes of one caller's requests at the same time; more is 429"),
        positive("caller-answer-bytes", "SIZE", "128M", "Bytes of one caller's large answers; more is 429"),
        positive("caller-streams", "N", "5000", "Open streams of one caller; one more is 429"),
        positive("caller-turns", "N", "10000", "Turns of one caller at the same time; one more is refused"),
        row(One, "caller-queued", "N", "10000", "Messages of one caller that wait behind turns; one more is refused"),
        positive("caller-held-bytes", "SIZE", "256M", "What those of one caller hold in memory; more is refused"),
        row(One, "caller-rate", "N", "none", "Requests per second of one caller; one more is 429"),
        row(One, "caller-burst", "N", "as --caller-rate", "Requests that a caller may make at once"),
    ],
);

const REST: [Setting; 2] = headed(
    "Output",
    [
        row(Switch, "quiet", "", "", "Log warnings only: no line for each call and each task that ends"),
        row(One, "log-format", "FORMAT", "text", "How log lines are written to stderr: text, or json for programs"),
    ],
);

/// All of them, in the order of the help.
pub(in crate::command::serve) const SETTINGS: &[&Setting] = &all();

const COUNT: usize = AGENT.len() + ADDRESS.len() + CALLERS.len() + TASKS.len() + LIMITS.len() + REST.len();

const fn all() -> [&'static Setting; COUNT] {
    const GROUPS: [&[Setting]; 6] = [&AGENT, &ADDRESS, &CALLERS, &TASKS, &LIMITS, &REST];
    let mut all = [&GROUPS[0][0]; COUNT];
    let (mut group, mut index, mut at) = (0, 0, 0);
    while at < COUNT {
        if index == GROUPS[group].len() {
            group += 1;
            index = 0;
        }
        all[at] = &GROUPS[group][index];
        index += 1;
        at += 1;
    }
    all
}

/// The variable of a setting.
pub(crate) fn variable(name: &str) -> String {
    format!("NUNCIO_SERVE_{}", name.replace('-', "_").to_ascii_uppercase())
}

/// Whether the value of a setting may be an address that contains a password.
pub(in crate::command::serve) fn is_address(name: &str) -> bool {
    matches!(name, "store" | "bus" | "public-url" | "grpc-url")
}
