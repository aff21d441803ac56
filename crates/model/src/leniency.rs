//! The table of leniencies: mistakes of peers that Nuncio reads. Nuncio never writes them.
//!
//! A reader tries the strict form first. If the strict form fails and a leniency makes the value readable, the reader
//! calls [`Leniency::note`]. `docs/versions.md` shows the table. A test of `nuncio-wire` reads one input for each row.

use std::cell::Cell;

/// The target of the log records about used leniencies.
pub const TARGET: &str = "nuncio_model::leniency";

macro_rules! leniencies {
    ($($(#[$meta:meta])* $variant:ident $name:literal $versions:literal $mistake:literal => $reading:literal;)*) => {
        /// A mistake of a peer that Nuncio reads.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Leniency {
            $(#[doc = concat!("Versions: ", $versions, ". ", $mistake, ". Read as: ", $reading, ".")] $variant,)*
        }

        impl Leniency {
            /// The whole table.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name in log records.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The versions and places in which the mistake is read.
            pub const fn versions(self) -> &'static str {
                match self { $(Self::$variant => $versions,)* }
            }

            /// The input with the mistake.
            pub const fn mistake(self) -> &'static str {
                match self { $(Self::$variant => $mistake,)* }
            }

            /// The value that is read instead.
            pub const fn reading(self) -> &'static str {
                match self { $(Self::$variant => $reading,)* }
            }
        }
    };
}

leniencies! {
    TimeWithoutZone "time-without-zone" "all"
        "a time without a zone, `2025-08-15T10:11:12.345678`" => "a time in UTC";
    UnknownState "unknown-state" "all, answers"
        "an unknown task state" => "`TASK_STATE_UNSPECIFIED`";
    UnknownRole "unknown-role" "all, answers; before 1.0 also requests"
        "an unknown role" => "`ROLE_UNSPECIFIED`; in a request the role of the sender";
    OldName "old-name" "all"
        "a member by its name in another version or text, `blocking`, `pushNotificationConfig`, `lastUpdatedAfter`"
        => "the member";
    EnumForm "enum-form" "all"
        "a state or a role in the form of another version or in another case, `working`" => "the state or the role";
    CapabilitiesList "capabilities-list" "all, cards"
        "`capabilities` as a list of names, `[\"streaming\"]`" => "an object with these flags";
    FlagAsText "flag-as-text" "all, cards"
        "a flag as a text, `\"streaming\":\"True\"`" => "the flag";
    SkillAsText "skill-as-text" "all, cards"
        "a skill as a text, `\"skills\":[\"translate\"]`" => "a skill with this id and name";
    RestBinding "rest-binding" "all, cards"
        "the binding `REST`, `HTTP` or `HTTP_JSON`" => "`HTTP+JSON`";
    InterfaceWithoutVersion "interface-without-version" "1.0, cards"
        "an interface of `supportedInterfaces` without `protocolVersion`"
        => "the newest version; 0.3 where the agent does not know the method";
    InterfaceTransport "interface-transport" "1.0, cards"
        "`transport` in an interface of `supportedInterfaces`" => "`protocolBinding`";
    CardVersions "card-versions" "1.0, cards"
        "`protocolVersions`, or a version beside `supportedInterfaces`"
        => "`protocolVersion` of each interface that has none";
    HttpAuthType "http-auth-type" "all, cards"
        "a security scheme of the type `httpAuth` or `bearer`" => "the type `http`";
    HttpWithoutScheme "http-without-scheme" "all, cards"
        "a security scheme of the type `http` without `scheme`" => "the scheme `Bearer`";
    BareRequirement "bare-requirement" "1.0, cards"
        "`securityRequirements` as before 1.0, `[{\"oauth\":[\"read\"]}]`" => "`schemes` with `list`";
    FileMembers "file-members" "0.3 and 0.2"
        "a file with the members of another binding or version: `fileWithBytes`, `fileWithUri`, `mediaType`"
        => "`bytes`, `uri`, `mimeType`";
    WithoutKind "without-kind" "0.3 and 0.2, answers"
        "an object without `kind`" => "the type indicated by the members";
    DottedMethod "dotted-method" "1.0, requests"
        "a method of the `a2a.*` dialect, or `ListTaskPushNotificationConfig`" => "the method of 1.0";
    DialectPath "dialect-path" "1.0, requests"
        "a path of the `a2a.*` dialect, `/messages`" => "the path of 1.0";
    NestedWebhook "nested-webhook" "1.0, requests"
        "a webhook inside `pushNotificationConfig` or `config`" => "the webhook";
    BareEvent "bare-event" "1.0, answers"
        "an event or an answer without its wrapper member" => "the type indicated by the members";
    InnerMarks "inner-marks" "1.0, answers"
        "`append` and `lastChunk` inside the artifact" => "the members of the event";
    NumericId "numeric-id" "before 1.0, answers"
        "a number as the id of a task or a session, `\"id\":1`" => "the number as a text";
    BareMessage "bare-message" "0.1, answers"
        "a message instead of a task, `{\"message\":{…}}` or without that member"
        => "a direct answer";
}

impl Leniency {
    /// Notes that the mistake was met: in the [`Noted`] of the reader if there is one, else in the log.
    #[cold]
    pub fn note(self) {
        match NOTED.get() {
            Some(noted) => NOTED.set(Some(noted.with(self))),
            None => self.log(None),
        }
    }

    /// Notes that a member was read by another name, unless this is the member's name in snake_case: ProtoJSON has both.
    #[cold]
    pub fn note_name(name: &str, read: &str) {
        let mut letters = read.bytes().filter(|letter| *letter != b'_');
        let is_snake = name.bytes().all(|it| letters.next().is_some_and(|letter| letter.eq_ignore_ascii_case(&it)))
            && letters.next().is_none();
        if !is_snake {
            Self::OldName.note();
        }
    }

    /// Logs the mistake at the level `DEBUG`, with the client that made the mistake, if it is known.
    pub fn log(self, client: Option<&dyn std::fmt::Display>) {
        tracing::debug!(
            target: TARGET,
            client = client.map(tracing::field::display),
            leniency = self.name(),
            mistake = self.mistake(),
            reading = self.reading(),
            "peer: message deviates from the specification; read leniently"
        );
    }
}

/// The mistakes that were met in a piece of reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Noted(u64);

impl Noted {
    /// Whether there was no mistake.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The mistakes.
    pub fn iter(self) -> impl Iterator<Item = Leniency> {
        Leniency::ALL.iter().copied().filter(move |it| self.0 & it.bit() != 0)
    }

    /// The mistakes that are not among others.
    #[must_use]
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// The mistakes of both.
    #[must_use]
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    const fn with(self, leniency: Leniency) -> Self {
        Self(self.0 | leniency.bit())
    }
}

impl Leniency {
    const fn bit(self) -> u64 {
        1 << self as u8
    }
}

const _: () = assert!(Leniency::ALL.len() <= 64, "each leniency has a bit of `Noted`");

thread_local! {
    static IN_ANSWER: Cell<bool> = const { Cell::new(false) };
    static NOTED: Cell<Option<Noted>> = const { Cell::new(None) };
}

/// Reads, and gives the mistakes that were met instead of logging each. A server says them once for each client.
pub fn noting<T>(read: impl FnOnce() -> T) -> (T, Noted) {
    struct Restore(Option<Noted>);
    impl Drop for Restore {
        fn drop(&mut self) {
            NOTED.set(self.0);
        }
    }
    let restore = Restore(NOTED.replace(Some(Noted::default())));
    let value = read();
    let noted = NOTED.get().unwrap_or_default();
    drop(restore);
    (value, noted)
}

/// Reads an answer again after the strict reading failed. Values that are errors in a request, for example an unknown
/// task state, are then read as the default.
pub fn in_answer<T>(read: impl FnOnce() -> T) -> T {
    struct Reset(bool);
    impl Drop for Reset {
        fn drop(&mut self) {
            IN_ANSWER.set(self.0);
        }
    }
    let _reset = Reset(IN_ANSWER.replace(true));
    read()
}

/// Whether the reader is within [`in_answer`].
pub fn is_in_answer() -> bool {
    IN_ANSWER.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_given_to_the_reader() {
        let ((), noted) = noting(|| {
            Leniency::OldName.note();
            let ((), inner) = noting(|| Leniency::EnumForm.note());
            assert_eq!(inner.iter().collect::<Vec<_>>(), [Leniency::EnumForm]);
            Leniency::note_name("messageId", "message_id");
            Leniency::note_name("taskPushNotificationConfig", "pushNotificationConfig");
        });
        assert_eq!(noted.iter().collect::<Vec<_>>(), [Leniency::OldName]);
        assert!(noted.without(noted).is_empty());
        assert!(noting(|| Leniency::note_name("pageToken", "page_token")).1.is_empty());
    }

    #[test]
    fn a_panic_ends_the_second_look() {
        assert!(std::panic::catch_unwind(|| in_answer(|| panic!("as expected"))).is_err());
        assert!(!is_in_answer());
        assert!(in_answer(is_in_answer));
    }
}
