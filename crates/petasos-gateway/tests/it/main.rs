//! The gateway through its doors: real store, real sessions, a scripted model.
#![expect(clippy::unwrap_used, reason = "what a test cannot set up fails it")]

mod access;
mod chats;
mod double;
mod doubles;
mod live;
mod moments;
mod post;
mod privacy;
mod real;
mod rendering;
mod suite;
mod telegram;
mod world;
