//! URIs of the extensions that are this project's own (section 4.6).

/// A message that is sent again with its id gets the answer of the first. `docs/extensions/idempotency.md` has the
/// text.
pub const IDEMPOTENCY: &str = "https://nuncio.dev/a2a/extensions/idempotency/v1";
