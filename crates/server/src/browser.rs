//! What protects callers without credentials from pages in browsers: the names that a server answers for, and the
//! origins of pages that may call.
//!
//! Any page can send requests to any address that its browser can reach, a server on the same machine included. CORS
//! alone does not help: it hides answers from a page, and a request is carried out all the same. So a request of a
//! foreign page is refused. A page that has its own name resolved to this machine (DNS rebinding) is of the same origin
//! as the server in the eyes of the browser; the name in the request gives it away.

mod hosts;
mod origins;

pub(crate) use hosts::Hosts;
pub use hosts::{AllowedHost, AllowedHostError};
pub(crate) use origins::Origins;
