//! Mistakes of clients that the server accepts. Each mistake is logged once for each client, at the level `DEBUG`.
//!
//! A client is a software (`User-Agent`) together with its caller. A caller without a name is identified by its
//! address, if the server requires credentials: an open server does not read addresses.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    hash::{BuildHasher as _, RandomState},
    sync::{Mutex, PoisonError},
};

use http::request::Parts;
use nuncio_model::{
    Principal,
    leniency::{self, Noted, TARGET},
};

use crate::{address::peer_key, head, stack::Peer};

/// The number of recorded clients. If the number is reached, the oldest client is forgotten and its mistakes are logged
/// again.
const KEPT: usize = 1_024;

/// The number of bytes of a `User-Agent` that are logged.
const SHOWN: usize = 100;

/// The mistakes that were logged, by client.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    hashing: RandomState,
    logged: Mutex<Logged>,
}

#[derive(Debug, Default)]
struct Logged {
    of: HashMap<u64, Noted>,
    order: VecDeque<u64>,
}

impl Clients {
    /// Reads a part of a request, and logs the mistakes that are new for this client.
    pub(crate) fn reading<T>(&self, head: &Parts, principal: &Principal, read: impl FnOnce() -> T) -> T {
        let (value, noted) = leniency::noting(read);
        if !noted.is_empty() && tracing::enabled!(target: TARGET, tracing::Level::DEBUG) {
            self.log(&Client::of(head, principal), noted);
        }
        value
    }

    fn log(&self, client: &Client<'_>, noted: Noted) {
        let key = self.hashing.hash_one((client.software, client.caller.as_str()));
        for leniency in self.new_of(key, noted).iter() {
            leniency.log(Some(client));
        }
    }

    /// The mistakes that are new for this client.
    fn new_of(&self, client: u64, noted: Noted) -> Noted {
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        let known = logged.of.get(&client).copied();
        logged.of.insert(client, known.unwrap_or_default().and(noted));
        if known.is_none() {
            logged.order.push_back(client);
            if logged.order.len() > KEPT
                && let Some(oldest) = logged.order.pop_front()
            {
                logged.of.remove(&oldest);
            }
        }
        noted.without(known.unwrap_or_default())
    }
}

struct Client<'a> {
    software: &'a str,
    caller: String,
}

impl<'a> Client<'a> {
    fn of(head: &'a Parts, principal: &Principal) -> Self {
        let caller = match (principal.name(), head.extensions.get::<Peer>()) {
            (Some(name), _) => name.to_owned(),
            (None, Some(peer)) => peer_key(peer.0.ip()).to_string(),
            (None, None) => principal.to_string(),
        };
        Self { software: head::user_agent(&head.headers).unwrap_or_default(), caller }
    }
}

impl fmt::Display for Client<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.caller)?;
        let software = &self.software[..self.software.floor_char_boundary(SHOWN)];
        if software.is_empty() { Ok(()) } else { write!(f, " {software}") }
    }
}

#[cfg(test)]
mod tests {
    use nuncio_model::Leniency;

    use super::*;

    #[test]
    fn a_mistake_is_new_once_for_each_client_and_few_clients_are_kept() {
        let clients = Clients::default();
        let ((), old) = leniency::noting(|| Leniency::OldName.note());
        let (_, both) = leniency::noting(|| [Leniency::OldName, Leniency::EnumForm].map(Leniency::note));
        assert_eq!(clients.new_of(1, old), old);
        assert!(clients.new_of(1, old).is_empty());
        assert_eq!(clients.new_of(1, both), both.without(old));
        assert_eq!(clients.new_of(2, both), both);
        for client in 3..3 + KEPT as u64 {
            assert_eq!(clients.new_of(client, old), old);
        }
        assert_eq!(clients.logged.lock().unwrap().of.len(), KEPT);
        assert_eq!(clients.new_of(1, both), both);
    }
}
