//! Durable webhook delivery from the outbox
