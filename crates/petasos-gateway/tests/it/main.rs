//! The gateway through its doors: real store, real sessions, a scripted model.
#![expect(clippy::unwrap_used, reason = "what a test cannot set up fails it")]

mod access;
mod brought;
mod chats;
mod deaths;
mod double;
mod doubles;
mod explained;
mod live;
mod moments;
mod mortal;
mod post;
mod privacy;
mod real;
mod rendering;
mod suite;
mod telegram;
mod world;
