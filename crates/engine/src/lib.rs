//! Agents, tasks and the event log
