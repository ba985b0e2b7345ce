//! The provider runtime through its public doors.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod described;
mod fault;
mod golden;
mod hostile;
mod keyring;
mod logins;
mod mangled;
mod minted;
mod programs;
mod refresh;
mod routes;
mod service;
mod services;
mod sockets;
mod token_server;
mod usage_log;
mod vault;
mod window;
