//! Authenticators for servers and credentials for clients
