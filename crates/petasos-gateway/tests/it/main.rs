//! The gateway through its doors: real store, real sessions, a scripted model.
#![expect(clippy::unwrap_used, reason = "what a test cannot set up fails it")]

mod access;
mod asked;
mod back;
mod brought;
mod chats;
mod chosen;
mod cuts;
mod deaths;
mod double;
mod doubles;
mod errands;
mod explained;
mod huge;
mod kept;
mod live;
mod moments;
mod mortal;
mod moved;
mod order;
mod post;
mod privacy;
mod real;
mod reloaded;
mod rendering;
mod slack;
mod strain;
mod suite;
mod table;
mod telegram;
mod unasked;
mod world;
