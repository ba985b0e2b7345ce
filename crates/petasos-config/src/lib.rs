//! Home, config file, dotenv and environment, read once into one immutable snapshot.
//!
//! The law: nothing else in the project reads the process environment or the config files, and
//! nothing writes them but [`edit`], [`dotenv::set`] and [`petasos_fs::write`]. The way in is
//! [`Inputs::from_process`], then [`load`]. Map: `home` (where things are), `yaml` (text to nodes
//! with positions), `keys` and `variables` (what we know, as data), `strict` (nodes to checked
//! leaves), `layers` (which leaf wins), `edit` and `dotenv` (changing one thing, keeping the rest),
//! `explain` and `reference` (telling people).

pub mod dotenv;
pub mod edit;
mod error;
mod expand;
pub mod explain;
pub mod home;
mod inputs;
pub mod keys;
mod layers;
mod logins;
mod mask;
pub mod reference;
mod reserved;
mod strict;
mod tighten;
pub mod variables;
mod yaml;

pub use error::{ConfigError, Position, Problem};
pub use inputs::{Inputs, Override};
pub use layers::{Reading, load, read};
