//! The Agent2Agent protocol in Rust: build agents and call them
