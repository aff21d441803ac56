//! A model of the ownership protocol of nodes, with a visit of every state: leases, claims, late commits, takeovers,
//! commands, and runners that stop or disappear. The [`Rules`] define the duties of the store and the nodes. Each
//! omitted rule violates a property, so each rule is necessary.

use stateright::{Checker, Expectation, HasDiscoveries, Model, Property};

const NODES: usize = 2;
/// The numbers of lost leases and crashes, and the length of logs: enough for a takeover of a takeover.
const EXPIRIES: u8 = 2;
const RECORDS: usize = 3;
const EPOCHS: u8 = 3;

/// The rules of the store and the nodes.
#[derive(Clone, Copy)]
struct Rules {
    /// A commit names the epoch under which its writer owns the task.
    epoch: bool,
    /// A commit names the end of the log as its writer knows it.
    sequence: bool,
    /// A running task of a live node is not given to another node.
    lease: bool,
    /// The commit that has the message of a command also acknowledges the command.
    command: bool,
    /// A claimer learns that the task was running, even if the claimer itself ran it.
    told: bool,
    /// A node remembers tasks that it gave up, or may have claimed without an answer.
    noted: bool,
    /// A task is not released during a turn.
    rest: bool,
    /// A node sometimes compares the tasks that it runs according to the store with its runners.
    net: bool,
}

const ALL: Rules =
    Rules { epoch: true, sequence: true, lease: true, command: true, told: true, noted: true, rest: true, net: true };

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    task: Task,
    nodes: [Node; NODES],
    /// The command, if it was enqueued.
    command: Option<Command>,
    expiries: u8,
    /// Whether an answer of the store was lost.
    unanswered: bool,
    /// Whether a runner disappeared without a report, which must not happen.
    vanished: bool,
}

/// The task in the store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Task {
    /// The node and its incarnation: a node that lost its lease gets a new id.
    owner: (usize, u8),
    epoch: u8,
    at_work: bool,
    ended: bool,
    /// A turn was cut off, and neither run again nor failed.
    cut_off: bool,
    log: Vec<Record>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Record {
    writer: usize,
    epoch: u8,
    /// The epoch of the owner at the time of the write.
    under: u8,
    /// The sequence number that the writer intended.
    meant: usize,
    what: What,
    /// Whether the writer continues as if no turn had been cut off.
    heedless: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum What {
    Word,
    /// The message of the command.
    Message,
    End,
    /// An empty commit that releases the task.
    Rest,
    /// The outcome of the turn that was cut off.
    Settled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Command {
    Waits,
    Acked,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
struct Node {
    /// Whether the lease is valid in the store.
    lives: bool,
    life: u8,
    runner: Option<Runner>,
    /// Whether the node knows that it may own the task without a runner.
    noted: bool,
    /// A sent commit, which can arrive at any time, even after the end of its sender.
    sent: Option<Commit>,
    /// Acknowledged records: the epoch and sequence number of each.
    told: Vec<(u8, usize)>,
}

/// The state of the task as the runner knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Runner {
    epoch: u8,
    /// The length of the log.
    sequence: usize,
    /// Whether the claim reported a turn that was cut off and is not settled yet.
    settles: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Commit {
    epoch: u8,
    expected: usize,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Action {
    /// The lease of a node expires: the node was stopped, disconnected or slow.
    Expire(usize),
    Renew(usize),
    /// A client sends a request, or the task belongs to a failed node.
    Claim(usize),
    /// A claim takes effect, and its answer is lost.
    ClaimUnanswered(usize),
    /// The store fails for too long.
    GiveUp(usize),
    /// A runner disappears without a report, because of a bug.
    Vanish(usize),
    /// A node compares the tasks that it runs according to the store.
    Look(usize),
    /// A node settles a remembered task.
    Settle(usize),
    Send(usize, What),
    Land(usize),
    /// A commit takes effect, and its answer is lost: the commit is sent again.
    LandUnanswered(usize),
    /// The process ends, and another process starts in its place.
    Crash(usize),
    Enqueue,
}

impl Model for Rules {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let mut nodes = <[Node; NODES]>::default();
        for node in &mut nodes {
            node.lives = true;
        }
        nodes[0].runner = Some(Runner { epoch: 1, sequence: 0, settles: false });
        let task = Task { owner: (0, 0), epoch: 1, at_work: true, ended: false, cut_off: false, log: Vec::new() };
        vec![State { task, nodes, command: None, expiries: 0, unanswered: false, vanished: false }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for (at, node) in state.nodes.iter().enumerate() {
            actions.extend([Action::Renew(at), Action::Claim(at), Action::Look(at), Action::Settle(at)]);
            if state.expiries < EXPIRIES {
                actions.extend([Action::Expire(at), Action::Crash(at)]);
            }
            if !state.unanswered {
                actions.push(Action::ClaimUnanswered(at));
            }
            if let Some(runner) = node.runner {
                actions.push(Action::GiveUp(at));
                if !state.vanished {
                    actions.push(Action::Vanish(at));
                }
                if node.sent.is_none() && state.task.log.len() < RECORDS {
                    actions.extend(self.whats(runner, state.command).map(|what| Action::Send(at, what)));
                }
            }
            if node.sent.is_some() {
                actions.push(Action::Land(at));
                if !state.unanswered {
                    actions.push(Action::LandUnanswered(at));
                }
            }
        }
        if state.command.is_none() && !state.task.ended {
            actions.push(Action::Enqueue);
        }
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = before.clone();
        match action {
            Action::Expire(at) => {
                if !state.nodes[at].lives {
                    return None;
                }
                state.nodes[at].lives = false;
                state.expiries += 1;
            }
            Action::Renew(at) if state.nodes[at].lives => return None,
            // Other nodes can claim its tasks, and so can the node under its new id.
            Action::Renew(at) => {
                let Node { life, sent, ref told, .. } = state.nodes[at];
                let told = told.clone();
                state.nodes[at] = Node { lives: true, life: life + 1, sent, told, ..Node::default() };
            }
            Action::Claim(at) => {
                state.nodes[at].runner = self.claim(&mut state, at).or(state.nodes[at].runner);
            }
            Action::ClaimUnanswered(at) => {
                self.claim(&mut state, at)?;
                state.nodes[at].noted |= self.noted;
                state.unanswered = true;
            }
            Action::GiveUp(at) => {
                state.nodes[at].runner = None;
                state.nodes[at].noted |= self.noted;
            }
            Action::Vanish(at) => {
                state.nodes[at].runner = None;
                state.vanished = true;
            }
            Action::Look(at) => {
                let Node { lives, life, runner, .. } = state.nodes[at];
                let is_zombie = state.task.at_work && state.task.owner == (at, life) && runner.is_none();
                state.nodes[at].noted |= self.net && lives && is_zombie;
            }
            Action::Settle(at) => {
                if !state.nodes[at].noted {
                    return None;
                }
                state.nodes[at].runner = self.claim(&mut state, at).or(state.nodes[at].runner);
                state.nodes[at].noted = state.nodes[at].runner.is_none() && state.is_at_work_on(at);
            }
            Action::Send(at, what) => {
                let Runner { epoch, sequence: expected, .. } = state.nodes[at].runner?;
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
                let Node { life, sent, .. } = state.nodes[at];
                state.nodes[at] = Node { life, sent, ..Node::default() };
                state.expiries += 1;
            }
            Action::Enqueue => state.command = Some(Command::Waits),
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
            Property::always("a command that is taken is in the log", |_, state: &State| {
                let is_there = state.task.log.iter().any(|record| record.what == What::Message);
                state.command != Some(Command::Acked) || is_there
            }),
            Property::always("nothing comes after the end", |_, state: &State| {
                let end = state.task.log.iter().position(|record| record.what == What::End);
                end.is_none_or(|end| end + 1 == state.task.log.len())
            }),
            Property::always("a task at work has a runner, or its node knows that it has none", |_, state: &State| {
                state.vanished || !state.is_held() || state.has_runner() || state.nodes[state.task.owner.0].noted
            }),
            Property::always(
                "a task at work has a runner, or gets one while all leases last",
                |rules, state: &State| rules.gets_a_runner(state),
            ),
            Property::always("a turn that was cut off is settled before another goes on", |_, state: &State| {
                state.task.log.iter().all(|record| !record.heedless)
            }),
            Property::always("a task that rests is not in the middle of a turn", |_, state: &State| {
                state.task.at_work || state.task.ended || !state.task.cut_off
            }),
            Property::always("nobody loses a task while it lives", |_, state: &State| {
                // A live node can lose its ownership only if its lease expired before.
                let overtaken = |node: &Node| node.runner.is_some_and(|runner| runner.epoch < state.task.epoch);
                state.expiries > 0 || !state.nodes.iter().any(|node| overtaken(node) && node.sent.is_none())
            }),
            Property::sometimes("a task is taken over and ends", |_, state: &State| {
                state.task.ended && state.task.log.iter().any(|record| record.writer != state.task.owner.0)
            }),
            Property::sometimes("a task is given up, settled by its own node, and ends", |_, state: &State| {
                let is_settled = |record: &Record| record.what == What::Settled && record.epoch == 1;
                state.task.ended && state.task.log.iter().any(is_settled)
            }),
            Property::sometimes("a zombie is found, settled, and ends", |_, state: &State| {
                let is_settled = state.task.log.iter().any(|record| record.what == What::Settled);
                state.vanished && state.expiries == 0 && !state.unanswered && state.task.ended && is_settled
            }),
            Property::sometimes("a command is taken after its node is gone", |_, state: &State| {
                state.task.log.iter().any(|it| it.what == What::Message && it.epoch > 1)
            }),
        ]
    }
}

impl State {
    /// Whether a live node runs the task, according to the store.
    fn is_held(&self) -> bool {
        let (owner, life) = self.task.owner;
        self.task.at_work && self.nodes[owner].lives && self.nodes[owner].life == life
    }

    fn is_at_work_on(&self, at: usize) -> bool {
        self.is_held() && self.task.owner.0 == at
    }

    fn has_runner(&self) -> bool {
        self.nodes[self.task.owner.0].runner.is_some_and(|runner| runner.epoch == self.task.epoch)
    }
}

impl Rules {
    /// The possible commits of a runner.
    fn whats(self, runner: Runner, command: Option<Command>) -> impl Iterator<Item = What> {
        let (words, settled): (&[_], &[_]) = match runner.settles {
            false if command == Some(Command::Waits) => (&[What::Word, What::End, What::Rest, What::Message], &[]),
            false => (&[What::Word, What::End, What::Rest], &[]),
            // The request can be refused, so that nothing is left to do.
            true if !self.rest => (&[What::Rest], &[What::Settled]),
            true => (&[], &[What::Settled]),
        };
        words.iter().chain(settled).copied()
    }

    /// A node without a runner starts one. Its earlier commits are done or refused then.
    fn claim(self, state: &mut State, at: usize) -> Option<Runner> {
        let is_held = state.is_held();
        let Node { lives, life, runner, sent, .. } = state.nodes[at];
        let task = &mut state.task;
        if task.ended || !lives || runner.is_some() {
            return None;
        }
        let is_own = is_held && task.owner == (at, life);
        if is_own && sent.is_some() || !is_own && (is_held && self.lease || task.epoch == EPOCHS) {
            return None;
        }
        task.cut_off |= task.at_work;
        let settles = task.at_work && (self.told || !is_own);
        if !is_own {
            task.owner = (at, life);
            task.epoch += 1;
            task.at_work = true;
        }
        Some(Runner { epoch: task.epoch, sequence: task.log.len(), settles })
    }

    /// Whether a running task gets a runner without further events, by the actions of the nodes alone.
    fn gets_a_runner(self, state: &State) -> bool {
        // The model is finite, the protocol is not.
        if !state.task.at_work || state.task.ended || state.task.epoch == EPOCHS && !state.is_held() {
            return true;
        }
        let mut state = state.clone();
        for at in 0..NODES {
            let adopts = (!state.is_held()).then_some(Action::Claim(at));
            let steps = [Action::Land(at), Action::Renew(at), Action::Look(at), Action::Settle(at)];
            for action in steps.into_iter().chain(adopts) {
                state = self.next_state(&state, action).unwrap_or(state);
            }
        }
        !state.task.at_work || state.has_runner()
    }

    /// A commit arrives at the store. Returns the sequence number and whether the commit is in the log, if it is
    /// accepted.
    fn land(self, state: &mut State, at: usize) -> Option<(Commit, bool)> {
        let commit = state.nodes[at].sent.take()?;
        let task = &mut state.task;
        let is_owner = !self.epoch || commit.epoch == task.epoch;
        let is_next = !self.sequence || commit.expected == task.log.len();
        let is_written = is_owner && is_next && task.log.len() < RECORDS;
        if is_written {
            let Commit { epoch, expected: meant, what } = commit;
            task.cut_off &= what != What::Settled;
            let heedless = task.cut_off && !what.lets_go();
            task.log.push(Record { writer: at, epoch, under: task.epoch, meant, what, heedless });
            task.ended |= what == What::End;
            task.at_work &= !what.lets_go();
        }
        if commit.what == What::Message && (is_written || !self.command) {
            state.command = Some(Command::Acked);
        }
        // No other writer uses its epoch, so the log has the records of an earlier attempt.
        let is_there = task.log.get(commit.expected).is_some_and(|record| record.epoch == commit.epoch);
        Some((commit, is_written || is_there))
    }
}

impl Node {
    /// A runner receives the result of its commit. The process that sent the commit may have ended.
    fn answered(&mut self, outcome: Option<(Commit, bool)>) {
        let Some((commit, is_there)) = outcome else { return };
        let Some(runner) = &mut self.runner else { return };
        if (runner.epoch, runner.sequence) != (commit.epoch, commit.expected) {
            return;
        }
        if is_there {
            runner.sequence += 1;
            runner.settles &= commit.what != What::Settled;
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
        ("command", Rules { command: false, ..ALL }),
        ("told", Rules { told: false, ..ALL }),
        ("noted", Rules { noted: false, ..ALL }),
        ("rest", Rules { rest: false, ..ALL }),
        ("net", Rules { net: false, ..ALL }),
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
