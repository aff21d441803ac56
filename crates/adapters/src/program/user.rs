//! The user for a program.

use std::{fmt, fs, str::FromStr};

use rustix::process::geteuid;
use thiserror::Error;
use tokio::process::Command;

use super::ProgramError;

/// A user of this machine, with a group, as text: `NAME`, `NAME:GROUP`, `UID:GID`, or `UID` of a known user.
///
/// Names are looked up in `/etc/passwd` and `/etc/group`. Users of a directory service have the form `UID:GID`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    uid: u32,
    gid: u32,
    /// The name and the home, if they are known.
    account: Option<(String, String)>,
}

/// The reason why a text is not a user.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum UserError {
    /// The user is not known.
    #[error("there is no user `{0}` in /etc/passwd; write a user of another directory as UID:GID")]
    Unknown(String),
    /// The group is not known.
    #[error("there is no group `{0}` in /etc/group")]
    UnknownGroup(String),
}

impl FromStr for User {
    type Err = UserError;

    fn from_str(text: &str) -> Result<Self, UserError> {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        Self::find(text, &read("/etc/passwd"), &read("/etc/group"))
    }
}

impl User {
    fn find(text: &str, users: &str, groups: &str) -> Result<Self, UserError> {
        let (name, group) = text.split_once(':').map_or((text, None), |(name, group)| (name, Some(group)));
        let known = users.lines().find_map(|line| {
            let fields: Vec<_> = line.split(':').collect();
            let [known, _, uid, gid, _, home, ..] = fields[..] else { return None };
            let is_it = !name.is_empty() && (known == name || uid == name);
            is_it.then_some(())?;
            Some((uid.parse().ok()?, gid.parse().ok()?, (known.to_owned(), home.to_owned())))
        });
        let group = group.map(|group| match group.parse() {
            Ok(gid) => Ok(gid),
            Err(_) => find_group(group, groups).ok_or_else(|| UserError::UnknownGroup(group.to_owned())),
        });
        match (known, name.parse(), group.transpose()?) {
            (Some((uid, own, account)), _, gid) => Ok(Self { uid, gid: gid.unwrap_or(own), account: Some(account) }),
            (None, Ok(uid), Some(gid)) => Ok(Self { uid, gid, account: None }),
            _ => Err(UserError::Unknown(name.to_owned())),
        }
    }

    /// Whether this process is allowed to start programs as the user.
    pub(super) fn check(&self) -> Result<(), ProgramError> {
        if geteuid().is_root() { Ok(()) } else { Err(ProgramError::User(self.to_string())) }
    }

    /// Configures a command to run as the user. The supplementary groups of root are removed with its id.
    pub(super) fn take_on(&self, command: &mut Command) {
        command.uid(self.uid).gid(self.gid);
        for name in ["HOME", "USER", "LOGNAME"] {
            match &self.account {
                Some((_, home)) if name == "HOME" => command.env(name, home),
                Some((account, _)) => command.env(name, account),
                None => command.env_remove(name),
            };
        }
    }
}

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.account {
            Some((name, _)) => f.write_str(name),
            None => write!(f, "user {}", self.uid),
        }
    }
}

fn find_group(name: &str, groups: &str) -> Option<u32> {
    groups.lines().find_map(|line| {
        let fields: Vec<_> = line.split(':').collect();
        let [known, _, gid, ..] = fields[..] else { return None };
        if known == name { gid.parse().ok() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_name_and_number() {
        let users = "root:x:0:0:root:/root:/bin/sh\nbroken\nann:x:1000:100:Ann:/home/ann:/bin/sh\n";
        let groups = "users:x:100:\nstaff:x:50:ann\n";
        let find =
            |text: &str| User::find(text, users, groups).map(|user| (user.uid, user.gid, user.account.is_some()));
        assert_eq!(find("ann"), Ok((1000, 100, true)));
        assert_eq!(find("1000"), Ok((1000, 100, true)));
        assert_eq!(find("ann:staff"), Ok((1000, 50, true)));
        assert_eq!(find("ann:7"), Ok((1000, 7, true)));
        assert_eq!(find("2000:7"), Ok((2000, 7, false)));
        for unknown in ["bob", "2000", "", ":", ":7", "-1:5"] {
            assert!(matches!(find(unknown), Err(UserError::Unknown(_) | UserError::UnknownGroup(_))), "{unknown}");
        }
        assert_eq!(find("ann:nobodys"), Err(UserError::UnknownGroup("nobodys".to_owned())));
    }
}
