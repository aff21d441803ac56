//! All that runs: nodes, the servers they depend on, and the proxies between them.

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

/// How long a node may be kept from starting by what it depends on.
const COMEBACK: Duration = Duration::from_mins(1);

/// Nodes and what they depend on. Dropping it ends it all.
#[derive(Debug)]
pub(crate) struct World {
    // Dropped in this order.
    pub(crate) nodes: Vec<Node>,
    links: Vec<Links>,
    /// Taken by who hurts a node, so that nobody else does meanwhile.
    busy: Vec<Mutex<()>>,
    servers_busy: Mutex<()>,
    nats: Option<Nats>,
    /// Its nodes' database, which goes with the server.
    database: Option<Database>,
    postgres: Option<Postgres>,
    /// Where the data is, if it is a small one.
    disk: Option<Disk>,
    history: Arc<History>,
}

/// A node's ways to the servers.
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

    /// Notes that a node ended by itself.
    pub(crate) fn died(&self, node: usize) {
        self.history.add(What::Died { node });
    }

    /// The servers that there are.
    pub(crate) fn servers(&self) -> Vec<Server> {
        let postgres = self.postgres.is_some().then_some(Server::Postgres);
        postgres.into_iter().chain(self.nats.is_some().then_some(Server::Nats)).collect()
    }

    /// Does something, and undoes it when its time is over. Nothing, where somebody else is at it.
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
                        // Its log needs a new file at once. That this is not answered is what it is for.
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

    /// Does it to a server. It takes up to a second.
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

    /// Starts a node again, as often as it takes while what it depends on is hurt.
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

    /// Whether what a node depends on may be hurt as it starts.
    fn may_fail_to_start(&self) -> bool {
        self.postgres.is_some() || self.disk.is_some()
    }

    /// PostgreSQL stops when it cannot write its log. It may be about to, or come back by itself.
    async fn recover_postgres(&self) -> Result<()> {
        let (Some(postgres), Some(database)) = (&self.postgres, &self.database) else { return Ok(()) };
        let deadline = Instant::now() + COMEBACK;
        loop {
            if postgres.has_ended()? {
                self.history.add(What::Fault { fault: "PostgreSQL has stopped, and is started again".to_owned() });
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

    /// Starts those again that have ended by themselves, and says which did.
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

/// What is done to a server at one instant.
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

/// On a small disk its log has to be small as well, and needs room soon.
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
