//! The only way out of the process over HTTP.
//!
//! Its law: a credential is attached here, by origin, or not at all; where a connection may go is
//! checked here, at the moment of connecting; redirects are followed here and lose every
//! credential when they leave their origin.
//!
//! | file | what it holds |
//! |---|---|
//! | `origin` | addresses taken apart, which secret may go where |
//! | `address` | what may be reached |
//! | `proxy` | which proxy, if any |
//! | `client` | requests, replies, redirects, deadlines |
//! | `sse` | server-sent events |
//! | `grpc` | framed messages and their status |
//! | `fault` | what can go wrong |

pub mod address;
pub mod client;
pub mod fault;
pub mod grpc;
pub mod origin;
pub mod proxy;
pub mod sse;

pub use address::Reach;
pub use client::{Follow, Identity, Net, NetOptions, Reply, Request, Tls};
pub use fault::NetError;
pub use grpc::{GrpcError, Messages, Status};
pub use origin::{Allowed, Credential, Origin, Refused, Scheme, Scope, UrlRefused, checked_url};
pub use reqwest::Method;
pub use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
pub use url::Url;
