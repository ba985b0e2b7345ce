//! MCP in both directions: other programs' tools for our agents, and our tools for other hosts.
//!
//! Its law: no type of the SDK leaves this crate, so that its next major version is work here and
//! nowhere else. HTTP goes out through `petasos-net`, programs are started by the `Processes` port,
//! and every tool, theirs or ours, runs through the one door.
//!
//! | file | what it holds |
//! |---|---|
//! | `bounded` | a stream of messages with a bound on each |
//! | `content`, `offer` | what is carried and what is offered, in our own words |
//! | `server` | our tools for other hosts |
//! | `client` | other servers' tools for us |
//! | `import` | entries from the files of other clients |

mod bounded;
pub mod client;
pub mod content;
pub mod import;
pub mod offer;
pub mod server;
