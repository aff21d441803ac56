//! The demo agent, with every scripted behaviour
