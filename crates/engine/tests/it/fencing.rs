//! The protocol by which nodes own tasks, as a small model of which every state is visited: leases, claims, commits that
//! land late, takeovers, letters. What the store must refuse is what the [`Rules`] say; each rule that is left out breaks
//! a property, so none is there in vain.

use stateright::{Checker, Expectation, HasDiscoveries, Model, Property};

const NODES: usize = 2;
/// How often leases may end, and how long logs may get: enough for a takeover of a takeover.
const EXPIRIES: u8 = 2;
const RECORDS: usize = 3;
const EPOCHS: u8 = 3;

/// What the store holds to.
#[derive(Clone, Copy)]
struct Rules {
    /// A commit names the epoch under which its writer owns the task.
    epoch: bool,
    /// A commit names the end of the log as its writer knows it.
    sequence: bool,
    /// A task at work on a node that lives is not given away.
    lease: bool,
    /// A letter is taken in the commit that has its message, and not beside it.
    letter: bool,
}

const ALL: Rules = Rules { epoch: true, sequence: true, lease: true, letter: true };

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    task: Task,
    nodes: [Node; NODES],
    /// The letter, if it was posted.
    letter: Option<Letter>,
    expiries: u8,
    /// Whether an answer of the store was lost.
    unanswered: bool,
}

/// What the store has of the task.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Task {
    owner: usize,
    epoch: u8,
    at_work: bool,
    ended: bool,
    log: Vec<Record>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Record {
    writer: usize,
    epoch: u8,
    /// The epoch under which the task was owned when it was written.
    under: u8,
    /// The place that its writer meant.
    meant: usize,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum What {
    Word,
    /// The letter's message.
    Message,
    End,
    /// Nothing; the task is let go of.
    Rest,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Letter {
    Waits,
    Taken,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
struct Node {
    /// Whether the store has its lease.
    lives: bool,
    /// The runner's idea of the task: its epoch and the length of its log.
    runner: Option<(u8, usize)>,
    /// A commit that was sent, and may land at any time, also after its sender is gone.
    sent: Option<Commit>,
    /// Records that it was told are stored: the epoch and place of each.
    told: Vec<(u8, usize)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Commit {
    epoch: u8,
    expected: usize,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Action {
    /// The lease of a node ends: it was stopped, cut off or slow.
    Expire(usize),
    Renew(usize),
    Claim(usize),
    Send(usize, What),
    Land(usize),
    /// A commit lands, and the answer is lost: it is sent again.
    LandUnanswered(usize),
    /// The process is gone, and another one starts in its place.
    Crash(usize),
    Post,
}

impl Model for Rules {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let mut nodes = <[Node; NODES]>::default();
        for node in &mut nodes {
            node.lives = true;
        }
        nodes[0].runner = Some((1, 0));
        let task = Task { owner: 0, epoch: 1, at_work: true, ended: false, log: Vec::new() };
        vec![State { task, nodes, letter: None, expiries: 0, unanswered: false }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for (at, node) in state.nodes.iter().enumerate() {
            actions.extend([Action::Renew(at), Action::Claim(at), Action::Crash(at)]);
            if node.lives && state.expiries < EXPIRIES {
                actions.push(Action::Expire(at));
            }
            if node.runner.is_some() && node.sent.is_none() && state.task.log.len() < RECORDS {
                actions.extend([What::Word, What::End, What::Rest].map(|what| Action::Send(at, what)));
                if state.letter == Some(Letter::Waits) {
                    actions.push(Action::Send(at, What::Message));
                }
            }
            if node.sent.is_some() {
                actions.push(Action::Land(at));
                if !state.unanswered {
                    actions.push(Action::LandUnanswered(at));
                }
            }
        }
        if state.letter.is_none() && !state.task.ended {
            actions.push(Action::Post);
        }
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = before.clone();
        match action {
            Action::Expire(at) => {
                state.nodes[at].lives = false;
                state.expiries += 1;
            }
            Action::Renew(at) => {
                if !state.nodes[at].lives {
                    state.nodes[at].runner = None;
                }
                state.nodes[at].lives = true;
            }
            Action::Claim(at) => self.claim(&mut state, at),
            Action::Send(at, what) => {
                let (epoch, expected) = state.nodes[at].runner?;
                state.nodes[at].sent = Some(Commit { epoch, expected, what });
            }
            Action::Land(at) => {
                let outcome = self.land(&mut state, at);
                state.nodes[at].answered(outcome);
            }
            Action::LandUnanswered(at) => {
                let sent = state.nodes[at].sent;
                self.land(&mut state, at);
                state.nodes[at].sent = sent;
                state.unanswered = true;
            }
            Action::Crash(at) => {
                state.nodes[at].runner = None;
                state.nodes[at].told.clear();
            }
            Action::Post => state.letter = Some(Letter::Waits),
        }
        (state != *before).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("nobody writes to what another owns", |_, state: &State| {
                state.task.log.iter().all(|record| record.epoch == record.under)
            }),
            Property::always("an epoch has one writer", |_, state: &State| {
                let log = &state.task.log;
                log.windows(2).all(|pair| pair[0].epoch != pair[1].epoch || pair[0].writer == pair[1].writer)
            }),
            Property::always("what a node was told is stored is stored at its place", |_, state: &State| {
                let is_there = |(epoch, at): &(u8, usize)| state.task.log.get(*at).is_some_and(|it| it.epoch == *epoch);
                state.nodes.iter().all(|node| node.told.iter().all(is_there))
            }),
            Property::always("a record is where its writer meant it", |_, state: &State| {
                state.task.log.iter().enumerate().all(|(at, record)| record.meant == at)
            }),
            Property::always("a message is in the log once", |_, state: &State| {
                state.task.log.iter().filter(|record| record.what == What::Message).count() <= 1
            }),
            Property::always("a letter that is taken is in the log", |_, state: &State| {
                let is_there = state.task.log.iter().any(|record| record.what == What::Message);
                state.letter != Some(Letter::Taken) || is_there
            }),
            Property::always("nothing comes after the end", |_, state: &State| {
                let end = state.task.log.iter().position(|record| record.what == What::End);
                end.is_none_or(|end| end + 1 == state.task.log.len())
            }),
            Property::always("a task at work has a runner, or can get one", |_, state: &State| {
                let task = &state.task;
                let has_runner = state.nodes[task.owner].runner.is_some_and(|(epoch, _)| epoch == task.epoch);
                let can_expire = !state.nodes[task.owner].lives || state.expiries <= EXPIRIES;
                !task.at_work || has_runner || can_expire
            }),
            Property::always("nobody loses a task while it lives", |_, state: &State| {
                // A node that lives has lost its place only if its lease ended before.
                let overtaken = |node: &Node| node.runner.is_some_and(|(epoch, _)| epoch < state.task.epoch);
                state.expiries > 0 || !state.nodes.iter().any(|node| overtaken(node) && node.sent.is_none())
            }),
            Property::sometimes("a task is taken over and ends", |_, state: &State| {
                state.task.ended && state.task.log.iter().any(|record| record.writer != state.task.owner)
            }),
            Property::sometimes("a letter is taken after its node is gone", |_, state: &State| {
                state.task.log.iter().any(|it| it.what == What::Message && it.epoch > 1)
            }),
        ]
    }
}

impl Rules {
    fn claim(self, state: &mut State, at: usize) {
        let task = &mut state.task;
        let is_held = task.at_work && state.nodes[task.owner].lives;
        if task.ended || task.epoch == EPOCHS || !state.nodes[at].lives {
            return;
        }
        if task.owner == at && is_held {
            // Its own: it goes on where the log ends.
            state.nodes[at].runner = Some((task.epoch, task.log.len()));
        } else if !is_held || !self.lease {
            *task = Task { owner: at, epoch: task.epoch + 1, at_work: true, ..task.clone() };
            state.nodes[at].runner = Some((task.epoch, task.log.len()));
        }
    }

    /// A commit reaches the store. Gives it, where it is, and whether it is in the log.
    fn land(self, state: &mut State, at: usize) -> Option<(Commit, bool)> {
        let commit = state.nodes[at].sent.take()?;
        let task = &mut state.task;
        let is_owner = !self.epoch || commit.epoch == task.epoch;
        let is_next = !self.sequence || commit.expected == task.log.len();
        let is_written = is_owner && is_next && task.log.len() < RECORDS;
        if is_written {
            let Commit { epoch, expected: meant, what } = commit;
            task.log.push(Record { writer: at, epoch, under: task.epoch, meant, what });
            task.ended |= what == What::End;
            task.at_work &= !what.lets_go();
        }
        if commit.what == What::Message && (is_written || !self.letter) {
            state.letter = Some(Letter::Taken);
        }
        // Nobody else writes under its epoch, so what is there of it is what an earlier attempt wrote.
        let is_there = task.log.get(commit.expected).is_some_and(|record| record.epoch == commit.epoch);
        Some((commit, is_written || is_there))
    }
}

impl Node {
    /// A runner hears what became of its commit; the process that sent it may be gone.
    fn answered(&mut self, outcome: Option<(Commit, bool)>) {
        let Some((commit, is_there)) = outcome else { return };
        let Some((epoch, sequence)) = &mut self.runner else { return };
        if (*epoch, *sequence) != (commit.epoch, commit.expected) {
            return;
        }
        if is_there {
            *sequence += 1;
            self.told.push((commit.epoch, commit.expected));
        }
        if !is_there || commit.what.lets_go() {
            self.runner = None;
        }
    }
}

impl What {
    fn lets_go(self) -> bool {
        matches!(self, Self::End | Self::Rest)
    }
}

#[test]
fn the_protocol_holds() {
    let checker = ALL.checker().threads(2).spawn_bfs().join();
    checker.assert_properties();
    assert!(checker.unique_state_count() > 10_000, "{}", checker.unique_state_count());
}

#[test]
fn each_rule_is_needed() {
    let broken = [
        ("epoch", Rules { epoch: false, ..ALL }),
        ("sequence", Rules { sequence: false, ..ALL }),
        ("lease", Rules { lease: false, ..ALL }),
        ("letter", Rules { letter: false, ..ALL }),
    ];
    for (rule, rules) in broken {
        let checker = rules.checker().threads(2).finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
        let found = checker.discoveries();
        let is_broken =
            checker.model().properties().iter().any(|property| {
                matches!(property.expectation, Expectation::Always) && found.contains_key(property.name)
            });
        assert!(is_broken, "without `{rule}` nothing breaks");
    }
}
