//! MCP through its public doors: servers that misbehave, and our own server.

mod hostile_http;
mod hostile_stdio;
mod kit;
mod many;
mod official;
mod serving;
mod signing_in;
mod web;
