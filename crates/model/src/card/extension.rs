//! URIs of Nuncio's own extensions (section 4.6).

/// A repeated message (same id) gets the answer to the first message. `docs/extensions/idempotency.md` is the
/// specification of this extension.
pub const IDEMPOTENCY: &str = "https://nuncio.dev/a2a/extensions/idempotency/v1";
