//! Programs as agents: any filter, any script
