//! The provider runtime through its public doors.

mod fault;
mod golden;
mod hostile;
mod logins;
mod mangled;
mod refresh;
mod token_server;
