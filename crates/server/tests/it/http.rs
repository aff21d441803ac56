//! JSON-RPC, HTTP+JSON, cards and connections as a client sees them on the wire.

mod agent;
mod auth;
mod card;
mod client;
mod cors;
mod drain;
mod envelope;
mod health;
mod limits;
mod rest;
mod streams;
mod tenants;
mod versions;

use agent::Running;
