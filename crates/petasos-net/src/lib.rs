//! The only way out of the process.
//!
//! Its law: a credential is attached here, by origin, or not at all; where a connection may go is
//! checked here, at the moment of connecting; redirects are followed here and lose every
//! credential when they leave their origin.
//!
//! | file | what it holds |
//! |---|---|
//! | `origin` | addresses taken apart, which secret may go where |
//! | `address`, `block` | what may be reached |
//! | `sites` | the user's exceptions and block list for sites that a model or a page chose |
//! | `filter` | a proxy on this machine that holds a browser to the same rules |
//! | `websocket` | WebSocket as a client |
//! | `proxy` | which proxy, if any |
//! | `client` | requests, replies, redirects, deadlines |
//! | `serve` | the way in: HTTP for those parts that listen |
//! | `sse` | server-sent events |
//! | `stream` | bare connections for protocols that are not HTTP |
//! | `grpc` | framed messages and their status |
//! | `fault` | what can go wrong |

pub mod address;
mod block;
pub mod client;
pub mod fault;
pub mod filter;
pub mod grpc;
pub mod origin;
pub mod proxy;
pub mod serve;
pub mod sites;
pub mod sse;
pub mod stream;
pub mod websocket;

pub use address::Reach;
pub use client::{Follow, Identity, Net, NetOptions, Reply, Request, Tls};
pub use fault::NetError;
pub use filter::{FilterProxy, RefusedSite};
pub use grpc::{GrpcError, Messages, Status};
pub use origin::{Allowed, Credential, Origin, Refused, Scheme, Scope, UrlRefused, checked_url};
pub use reqwest::Method;
pub use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
pub use sites::{Lookup, SiteBlocked, SiteRules};
pub use stream::{Protection, Wire};
pub use url::Url;
pub use websocket::{WebSocket, WebSocketError};
