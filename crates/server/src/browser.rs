//! Protects callers without credentials from pages in browsers: by the names of the server, and by the origins of pages
//! that may call.
//!
//! Any page can send requests to any address that its browser can reach, also to a server on the same machine. CORS
//! alone does not help: the browser hides the answer from the page, but the server executes the request. Therefore the
//! server refuses requests of foreign pages. A page can also let its own name resolve to this machine (DNS rebinding).
//! The browser then takes the page and the server for the same origin, but the name in the request reveals the page.

mod hosts;
mod origins;

pub(crate) use hosts::Hosts;
pub use hosts::{AllowedHost, AllowedHostError};
pub(crate) use origins::Origins;
