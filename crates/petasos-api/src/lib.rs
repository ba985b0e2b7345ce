//! Sessions over HTTP: the interfaces that OpenAI's clients speak, runs, and webhooks.
//!
//! Its law: a request is a run, a run is one turn of one session, and whoever reads its log, in
//! whichever words, reads the same. Nobody is let in without a key, and what a key began is there
//! for that key alone.
//!
//! | file | what it holds |
//! |---|---|
//! | `options` | the settings, and what is refused |
//! | `keys`, `rate` | keys, tokens, scopes, slow guessing; how often a key may ask |
//! | `server` | who is let in, and what every answer carries |
//! | `routes`, `openapi` | every endpoint, and the document made from them |
//! | `profiles` | other profiles behind the same listener |
//! | `origin`, `body`, `answer`, `error` | hosts and pages, bodies in, answers out |
//! | `event`, `run`, `runs`, `pump` | what happens, a run and its log, all of them, and how a session fills one |
//! | `stream` | the log as frames |
//! | `conversation`, `turns` | which session is meant, and how its turn begins |
//! | `chat`, `responses`, `content` | OpenAI's interfaces |
//! | `run_routes`, `approvals`, `sessions`, `jobs`, `boards` | ours |
//! | `models`, `state` | names of models; health, readiness, numbers |
//! | `prune` | sessions that nobody came back to |
//! | `webhooks` | deliveries that were signed, as turns |
//! | `outgoing` | what happens, told to other programs |
//! | `host` | what the program must offer |

mod answer;
mod approvals;
mod boards;
mod body;
mod chat;
mod content;
mod conversation;
mod error;
mod event;
mod host;
mod jobs;
mod keys;
mod models;
mod openapi;
mod options;
mod origin;
mod outgoing;
mod profiles;
mod prune;
mod pump;
mod rate;
mod responses;
mod routes;
mod run;
mod run_routes;
mod runs;
mod server;
mod sessions;
mod state;
mod stream;
mod turns;
mod webhooks;

pub use host::{ApiHost, JobAsk, JobFault, Reached, Wish};
pub use keys::{ApiScope, NamedKey, NewToken, create_token};
pub use openapi::document;
pub use options::{ApiOptions, Leniency, ModelRoute, OptionsError, is_enabled, silence};
pub use outgoing::Outgoing;
pub use server::{ApiParts, ApiServer, StartError};
pub use webhooks::{Rehearsal, WebhookOptions, WebhookParts, WebhookRoute, WebhookServer};
