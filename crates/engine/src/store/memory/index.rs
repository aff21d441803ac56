//! The index of lists: the order of tasks by state, for a scope and for each of its contexts.

use std::iter::Peekable;

use nuncio_model::TaskState;

use super::order::{Descending, Entry, Moment, Order, Place};

const STATES: usize = TaskState::ALL.len();

/// Tasks in order, by state. A list of all states merges the orders.
#[derive(Default)]
pub(super) struct Lists {
    by_state: [Order; STATES],
}

impl Lists {
    pub(super) fn insert(&mut self, entry: Entry) {
        self.by_state[slot(entry.state)].insert(entry);
    }

    pub(super) fn remove(&mut self, state: TaskState, place: Place<'_>) -> bool {
        self.by_state[slot(state)].remove(place)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_state.iter().all(|order| order.len() == 0)
    }

    /// The newest entries before a position that are not older than `since`, at most `limit`.
    pub(super) fn page(
        &self,
        state: Option<TaskState>,
        before: Option<Place<'_>>,
        since: Option<Moment>,
        limit: usize,
    ) -> Vec<Entry> {
        let mut heads: Vec<Peekable<Descending<'_>>> =
            self.orders(state).filter(|order| order.len() > 0).map(|order| order.before(before).peekable()).collect();
        let mut page = Vec::with_capacity(limit.min(128));
        while page.len() < limit {
            let newest = heads
                .iter_mut()
                .filter_map(|head| head.peek().map(|entry| entry.place()).map(|place| (place, head)))
                .max_by_key(|(place, _)| *place);
            match newest.and_then(|(_, head)| head.next()) {
                Some(entry) if since.is_none_or(|since| entry.at >= since) => page.push(entry.clone()),
                _ => break,
            }
        }
        page
    }

    /// Entries of a state after a position and before a time, oldest first, at most `limit`.
    pub(super) fn older(&self, state: TaskState, after: Option<Place<'_>>, before: Moment, limit: usize) -> Vec<Entry> {
        let older = self.by_state[slot(state)].after(after).take_while(|entry| entry.at < before);
        older.take(limit).cloned().collect()
    }

    /// The number of entries that are not older than `since`.
    pub(super) fn count(&self, state: Option<TaskState>, since: Option<Moment>) -> usize {
        self.orders(state)
            .map(|order| since.map_or(order.len(), |since| order.count_from(Place::start_of(since))))
            .sum()
    }

    fn orders(&self, state: Option<TaskState>) -> impl Iterator<Item = &Order> {
        let orders = match state {
            Some(state) => &self.by_state[slot(state)..=slot(state)],
            None => &self.by_state[..],
        };
        orders.iter()
    }
}

fn slot(state: TaskState) -> usize {
    usize::try_from(state.number()).unwrap_or_default()
}

/// The tasks of one context. Most contexts have one task, which needs no lists.
pub(super) enum InContext {
    One(Entry),
    Many(Box<Lists>),
}

impl InContext {
    pub(super) fn insert(&mut self, entry: Entry) {
        match self {
            Self::One(one) => {
                let mut lists = Box::<Lists>::default();
                lists.insert(one.clone());
                lists.insert(entry);
                *self = Self::Many(lists);
            }
            Self::Many(lists) => lists.insert(entry),
        }
    }

    /// Replaces the entry of a task.
    pub(super) fn replace(&mut self, state: TaskState, place: Place<'_>, entry: Entry) {
        match self {
            Self::One(one) => *one = entry,
            Self::Many(lists) => {
                lists.remove(state, place);
                lists.insert(entry);
            }
        }
    }

    /// Removes a task. Returns `true` if no task is left.
    pub(super) fn remove(&mut self, state: TaskState, place: Place<'_>) -> bool {
        match self {
            Self::One(one) => one.place() == place,
            Self::Many(lists) => {
                lists.remove(state, place);
                lists.is_empty()
            }
        }
    }

    pub(super) fn page(
        &self,
        state: Option<TaskState>,
        before: Option<Place<'_>>,
        since: Option<Moment>,
        limit: usize,
    ) -> Vec<Entry> {
        match self {
            Self::One(one) => {
                let matches = matches_filters(one, state, since) && before.is_none_or(|before| one.place() < before);
                if matches && limit > 0 { vec![one.clone()] } else { Vec::new() }
            }
            Self::Many(lists) => lists.page(state, before, since, limit),
        }
    }

    pub(super) fn count(&self, state: Option<TaskState>, since: Option<Moment>) -> usize {
        match self {
            Self::One(one) => usize::from(matches_filters(one, state, since)),
            Self::Many(lists) => lists.count(state, since),
        }
    }
}

fn matches_filters(entry: &Entry, state: Option<TaskState>, since: Option<Moment>) -> bool {
    state.is_none_or(|state| entry.state == state) && since.is_none_or(|since| entry.at >= since)
}
