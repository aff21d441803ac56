//! JSON-RPC, HTTP+JSON, cards and connections on the wire.

mod agent;
mod answers;
mod auth;
mod browser;
mod card;
mod cards;
mod client;
mod cors;
mod crossing;
mod dotted;
mod drain;
mod envelope;
mod heads;
mod health;
mod http2;
mod landing;
mod leniencies;
mod limits;
mod older;
mod quotas;
mod rest;
mod resume;
mod routes;
mod streams;
mod tenants;
mod transitions;
mod v0_3;
mod versions;
mod webhooks;

use agent::Running;
