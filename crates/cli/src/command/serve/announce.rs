//! The banner of a server: the addresses of the agent, and a command that calls the agent.

use std::net::SocketAddr;

use nuncio_server::Binding;
use nuncio_wire::{Version, dialect};
use serde_json::json;

use super::{bindings, versions};
use crate::{connect::quoted, context::Context, error::CliError};

/// What people are told beside where the agent is.
pub(super) struct About<'a> {
    pub(super) agent: &'a str,
    pub(super) name: &'a str,
    /// Oldest first.
    pub(super) versions: &'a [Version],
    /// Which bindings the card lists; `None` of a signed card, which lists its own.
    pub(super) listed: Option<&'a bindings::Listed>,
    /// `None` where tasks are in memory.
    pub(super) database: Option<String>,
    /// `None` where there is none.
    pub(super) bus: Option<String>,
    pub(super) tasks: u64,
    /// Whether all callers have tokens.
    pub(super) wants_token: bool,
    /// The tenants that the settings name, or `any`.
    pub(super) tenants: Vec<&'a str>,
}

impl About<'_> {
    /// A tenant for the command that shows how a tenant is called.
    fn example_tenant(&self) -> Option<&str> {
        match self.tenants.first() {
            Some(&("any" | "*")) => Some("TENANT"),
            other => other.copied(),
        }
    }

    /// The bindings of all served versions.
    fn bindings(&self) -> Vec<Binding> {
        let any = |has: fn(&Version) -> bool| self.versions.iter().any(has);
        let rest = any(|version| dialect(*version).rest().is_some());
        let grpc = any(|version| dialect(*version).grpc().is_some());
        let all = [(Binding::JsonRpc, true), (Binding::HttpJson, rest), (Binding::Grpc, grpc)];
        all.into_iter().filter(|(_, is_there)| *is_there).map(|(binding, _)| binding).collect()
    }
}

/// Where the agent is.
pub(super) struct Address {
    pub(super) local: SocketAddr,
    pub(super) public: Option<String>,
}

impl Address {
    /// Prints the banner, for people and for programs that start the server.
    pub(super) fn announce(&self, context: &Context, about: &About<'_>) -> Result<(), CliError> {
        let About { agent, name, .. } = about;
        let near = self.near();
        let base = self.public.clone().unwrap_or_else(|| format!("http://{near}"));
        let base = base.trim_end_matches('/');
        let card = format!("http://{near}/.well-known/agent-card.json");
        let database = about.database.as_deref().unwrap_or("memory; tasks end with the process");
        let kept = match about.tasks {
            0 => String::new(),
            1 => ", holds 1 task from before".to_owned(),
            tasks => format!(", holds {tasks} tasks from before"),
        };
        let token = if about.wants_token { " --bearer SECRET" } else { "" };
        let reference = if self.public.is_some() { base.to_owned() } else { near.to_string() };
        let versions = versions::list(about.versions);
        let served = about.bindings();
        let bindings = served.iter().map(|binding| binding.name()).collect::<Vec<_>>().join(", ");
        let listed = about.listed.map(|listed| listed.names(&served));
        let in_card = match &listed {
            Some(listed) if *listed != bindings => format!("; the card lists {listed}"),
            _ => String::new(),
        };
        let document = json!({
            "name": name, "card": card, "url": base, "address": self.local.to_string(),
            "bindings": bindings.split(", ").collect::<Vec<_>>(),
            "listed": listed.as_ref().map(|listed| listed.split(", ").collect::<Vec<_>>()),
            "versions": versions.split(", ").collect::<Vec<_>>(),
            "database": database, "bus": about.bus, "tasks": about.tasks, "tenants": about.tenants,
        });
        context.output.banner(&document, |to| {
            to.field("Agent", &format!("{name}, {agent}"));
            to.field("Card", &card);
            to.field_if("Public-URL", self.public.as_deref());
            to.field("Bindings", &format!("{bindings} at {base}{in_card}"));
            to.field("Versions", &versions);
            to.field("Database", &format!("{database}{kept}"));
            to.field_if("Bus", about.bus.as_deref());
            if let Some(tenant) = about.example_tenant() {
                to.field("Tenants", &about.tenants.join(", "));
                to.field("Tenant", &format!("nuncio send -a {reference}{token} --tenant {} \"hello\"", quoted(tenant)));
            }
            to.field("Try", &format!("nuncio send -a {reference}{token} \"hello\""));
        })
    }

    /// The address from this machine.
    fn near(&self) -> SocketAddr {
        let mut near = self.local;
        if near.ip().is_unspecified() {
            near.set_ip(if near.is_ipv4() {
                std::net::Ipv4Addr::LOCALHOST.into()
            } else {
                std::net::Ipv6Addr::LOCALHOST.into()
            });
        }
        near
    }
}
