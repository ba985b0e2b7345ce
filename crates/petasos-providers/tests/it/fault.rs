//! A misbehaving server, and the path that a question takes through each of its moods.

mod chain;
mod mixture;
mod repairs;
mod replies;
mod scene;
mod server;
mod statuses;
mod storm;
mod streams;
mod words;
