//! All processes of a run: nodes, the servers on which nodes depend, and the proxies in between.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use nuncio_testbed::{Database, Disk, Nats, NatsOptions, Postgres, PostgresOptions, Proxy, Server as _};
use rustix::process::Signal;
use tokio::{sync::Mutex, time::sleep};

use crate::{
    fault::{Blow, Break, Fault, Server},
    history::{History, What},
    node::{Node, Plan},
    options::{Bus, Options, Store},
};

/// The maximum time until a node starts again. A faulty server can delay the start.
const COMEBACK: Duration = Duration::from_mins(1);

/// The nodes and the servers on which they depend. Dropping the value ends all processes.
#[derive(Debug)]
pub(crate) struct World {
    // The fields are dropped in this order.
    pub(crate) nodes: Vec<Node>,
    links: Vec<Links>,
    /// One lock for each node: a fault holds the lock, so that no other fault affects the node at the same time.
    busy: Vec<Mutex<()>>,
    servers_busy: Mutex<()>,
    nats: Option<Nats>,
    /// The database of the nodes; dropped with the server.
    database: Option<Database>,
    postgres: Option<Postgres>,
    /// The disk for the data, if the run has a small disk.
    disk: Option<Disk>,
    history: Arc<History>,
}

/// The proxies between a node and the servers.
#[derive(Debug, Default)]
struct Links {
    postgres: Option<Proxy>,
    nats: Option<Proxy>,
}

impl World {
    /// Starts everything.
    pub(crate) async fn start(options: &Options, plan: &Plan, history: Arc<History>) -> Result<Self> {
        let disk = options.disk.map(Disk::mount).transpose()?;
        let data = disk.as_ref().map_or(&*plan.folder, Disk::path);
        let postgres = match options.store {
            Store::Sqlite => None,
            Store::Postgres => Some(Postgres::start(postgres_options(disk.as_ref()))?),
        };
        let database = postgres.as_ref().map(Postgres::database).transpose()?;
        let nats = match (options.store, options.bus) {
            (Store::Postgres, Bus::Nats) => Some(Nats::start(NatsOptions::new())?),
            _ => None,
        };
        let mut world = Self {
            nodes: Vec::new(),
            links: Vec::new(),
            busy: Vec::new(),
            servers_busy: Mutex::default(),
            nats,
            database,
            postgres,
            disk: None,
            history,
        };
        for number in 0..options.nodes() {
            let mut links = Links::default();
            let mut arguments = Vec::new();
            let mut say = |flag: &str, value: String| arguments.extend([flag.to_owned(), value]);
            if let (Some(postgres), Some(database)) = (&world.postgres, &world.database) {
                let proxy = Proxy::start(postgres.address())?;
                say("--store", database.url_by(&proxy.address().to_string())?);
                say("--lease", options.lease.to_string());
                links.postgres = Some(proxy);
                match &world.nats {
                    Some(nats) => {
                        let proxy = Proxy::start(nats.address())?;
                        say("--bus", format!("nats://{}", proxy.address()));
                        links.nats = Some(proxy);
                    }
                    None => say("--bus", "postgres".to_owned()),
                }
            } else {
                say("--store", format!("sqlite:{}", data.join("tasks.db").display()));
            }
            world.links.push(links);
            world.busy.push(Mutex::default());
            let node = Node::new(format!("n{number}"), plan.clone(), arguments, Arc::clone(&world.history))?;
            world.nodes.push(node);
        }
        world.disk = disk;
        for node in &world.nodes {
            node.start().await?;
        }
        Ok(world)
    }

    /// Notes that a node exited without a fault.
    pub(crate) fn died(&self, node: usize) {
        self.history.add(What::Died { node });
    }

    /// The servers of this run.
    pub(crate) fn servers(&self) -> Vec<Server> {
        let postgres = self.postgres.is_some().then_some(Server::Postgres);
        postgres.into_iter().chain(self.nats.is_some().then_some(Server::Nats)).collect()
    }

    /// Applies a fault, and reverts the fault after its time. Has no effect if another fault holds the lock.
    pub(crate) async fn inflict(&self, fault: Fault) -> Result<()> {
        let busy = match fault {
            Fault::Kill { node, .. } | Fault::Pause { node, .. } | Fault::Link { node, .. } => &self.busy[node],
            Fault::Fill { .. } | Fault::Hurt { .. } => &self.servers_busy,
        };
        let Ok(_busy) = busy.try_lock() else { return Ok(()) };
        self.history.add(What::Fault { fault: fault.to_string() });
        match fault {
            Fault::Kill { node, down, again } => {
                self.nodes[node].kill().await?;
                pass(down).await;
                if let Some(after) = again {
                    self.nodes[node].spawn()?;
                    pass(after).await;
                    self.nodes[node].kill().await?;
                }
                self.bring_back(node).await?;
            }
            Fault::Pause { node, time } => {
                self.nodes[node].signal(Signal::STOP)?;
                pass(time).await;
                self.nodes[node].signal(Signal::CONT)?;
            }
            Fault::Link { node, to, how, time } => {
                if let Some(proxy) = self.links[node].to(to) {
                    strike(proxy, how);
                    pass(time).await;
                    proxy.heal();
                }
            }
            Fault::Fill { time } => {
                if let Some(disk) = &self.disk {
                    disk.fill()?;
                    if let Some(database) = &self.database {
                        // This statement makes PostgreSQL create a new WAL file immediately. The statement is expected
                        // to hang or to fail.
                        drop(tokio::task::block_in_place(|| database.execute("SELECT pg_switch_wal()")));
                    }
                    pass(time).await;
                    disk.free()?;
                    self.recover_postgres().await?;
                }
            }
            Fault::Hurt { server, how, time } => self.hurt(server, how, time).await?,
        }
        self.history.add(What::Fault { fault: format!("over: {fault}") });
        Ok(())
    }

    async fn hurt(&self, server: Server, how: Blow, time: u64) -> Result<()> {
        let (first, then) = match how {
            Blow::Restart => (Act::Restart, None),
            Blow::Kill => (Act::Kill, Some(Act::Restart)),
            Blow::Pause => (Act::Pause, Some(Act::Resume)),
        };
        self.act(server, first)?;
        if let Some(then) = then {
            pass(time).await;
            self.act(server, then)?;
        }
        Ok(())
    }

    /// Applies an action to a server. Takes up to a second.
    fn act(&self, server: Server, act: Act) -> Result<()> {
        let hurt: Option<&dyn nuncio_testbed::Server> = match server {
            Server::Postgres => self.postgres.as_ref().map(|it| it as _),
            Server::Nats => self.nats.as_ref().map(|it| it as _),
        };
        let hurt = hurt.with_context(|| format!("there is no {server:?}"))?;
        tokio::task::block_in_place(|| match act {
            Act::Restart => hurt.restart(),
            Act::Kill => hurt.kill(),
            Act::Pause => hurt.pause(),
            Act::Resume => hurt.resume(),
        })
    }

    /// Starts a node again. The start is repeated while a server of the node has a fault.
    async fn bring_back(&self, node: usize) -> Result<()> {
        let deadline = Instant::now() + COMEBACK;
        loop {
            match self.nodes[node].start().await {
                Ok(()) => return Ok(()),
                Err(error) if !self.may_fail_to_start() || Instant::now() > deadline => return Err(error),
                Err(_) => sleep(Duration::from_millis(200)).await,
            }
        }
    }

    /// Whether a server of a node can have a fault during the node's start.
    fn may_fail_to_start(&self) -> bool {
        self.postgres.is_some() || self.disk.is_some()
    }

    /// Brings PostgreSQL back after a full disk. PostgreSQL stops if it cannot write the WAL; it may still be stopping,
    /// or restart on its own.
    async fn recover_postgres(&self) -> Result<()> {
        let (Some(postgres), Some(database)) = (&self.postgres, &self.database) else { return Ok(()) };
        let deadline = Instant::now() + COMEBACK;
        loop {
            if postgres.has_ended()? {
                self.history.add(What::Fault { fault: "PostgreSQL has stopped and is restarted".to_owned() });
                return self.act(Server::Postgres, Act::Restart);
            }
            let answered = tokio::task::block_in_place(|| database.execute("SELECT 1"));
            match answered {
                Ok(()) => return Ok(()),
                Err(error) if Instant::now() > deadline => return Err(error),
                Err(_) => pass(20).await,
            }
        }
    }

    /// Restarts nodes that exited without a fault, and returns their numbers.
    pub(crate) async fn revive(&self) -> Result<Vec<usize>> {
        let mut ended = Vec::new();
        for (number, node) in self.nodes.iter().enumerate() {
            if node.has_ended() {
                ended.push(number);
                self.bring_back(number).await?;
            }
        }
        Ok(ended)
    }
}

/// An action on a server.
#[derive(Debug, Clone, Copy)]
enum Act {
    Restart,
    Kill,
    Pause,
    Resume,
}

impl Links {
    fn to(&self, server: Server) -> Option<&Proxy> {
        match server {
            Server::Postgres => self.postgres.as_ref(),
            Server::Nats => self.nats.as_ref(),
        }
    }
}

/// On a small disk, the WAL of PostgreSQL must be small as well, and the WAL must need new space soon.
fn postgres_options(disk: Option<&Disk>) -> PostgresOptions {
    match disk {
        Some(disk) => PostgresOptions::new().with_folder(disk.path()).with_small_log(),
        None => PostgresOptions::new(),
    }
}

fn strike(proxy: &Proxy, how: Break) {
    match how {
        Break::Cut => proxy.cut(),
        Break::Refuse => {
            proxy.set(|faults| faults.refuses = true);
            proxy.cut();
        }
        Break::Hold => proxy.set(|faults| faults.holds = true),
        Break::LoseReplies => proxy.set(|faults| faults.loses_replies = true),
        Break::Delay(milliseconds) => proxy.set(|faults| {
            faults.delay_up = Duration::from_millis(milliseconds);
            faults.delay_down = faults.delay_up;
        }),
    }
}

async fn pass(milliseconds: u64) {
    sleep(Duration::from_millis(milliseconds)).await;
}
