//! What can go wrong on the way out, told apart by what a caller can do about it.
//!
//! No text of a fault holds a header, a body or a query, so that none can hold a secret.

use std::error::Error;
use std::path::PathBuf;

use url::Url;

use crate::address::AddressRefused;
use crate::origin::{Refused, UrlRefused};
use crate::sites::SiteBlocked;

/// A request that got no reply, or a reply that broke.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NetError {
    /// The address itself is refused.
    #[error(transparent)]
    Url(#[from] UrlRefused),
    /// The credential may not go there.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The place may not be reached.
    #[error(transparent)]
    Address(#[from] AddressRefused),
    /// The user blocked the site.
    #[error(transparent)]
    Blocked(#[from] SiteBlocked),
    /// A header cannot be written.
    #[error("the header `{name}` cannot be sent; remove its control characters")]
    BadHeader {
        /// The header.
        name: String,
    },
    /// No connection.
    #[error("cannot connect to `{host}`: {reason}")]
    Connect {
        /// The host.
        host: String,
        /// The system's word.
        reason: String,
    },
    /// Making the connection took too long.
    #[error("`{host}` did not accept a connection in time")]
    ConnectTimeout {
        /// The host.
        host: String,
    },
    /// The certificate is not trusted, or the handshake failed.
    #[error(
        "no trusted connection to `{host}`: {reason}; check `ssl_ca_cert` and the system's certificates"
    )]
    Tls {
        /// The host.
        host: String,
        /// The library's word.
        reason: String,
    },
    /// The connection ended before or during the headers.
    #[error("`{host}` broke the connection before its reply: {reason}")]
    Reset {
        /// The host.
        host: String,
        /// The library's word.
        reason: String,
    },
    /// No headers in time.
    #[error("`{host}` sent no reply in time")]
    FirstByteTimeout {
        /// The host.
        host: String,
    },
    /// The body stopped coming.
    #[error("`{host}` stopped sending in the middle of its reply")]
    IdleTimeout {
        /// The host.
        host: String,
    },
    /// The body broke off.
    #[error("the reply of `{host}` broke off: {reason}")]
    Broken {
        /// The host.
        host: String,
        /// The library's word.
        reason: String,
    },
    /// The body is larger than the caller takes.
    #[error("the reply of `{host}` is larger than {bytes_max} bytes")]
    TooLarge {
        /// The host.
        host: String,
        /// The limit.
        bytes_max: usize,
    },
    /// A redirect that is not followed.
    #[error("`{host}` redirects in a way that is not followed: {reason}")]
    BadRedirect {
        /// The host.
        host: String,
        /// What is wrong.
        reason: String,
    },
    /// A chain of redirects without an end.
    #[error("`{host}` redirects too often")]
    TooManyRedirects {
        /// The last host.
        host: String,
    },
    /// An extra certificate authority or a certificate of our own cannot be used.
    #[error("`{}` is not a usable certificate file: {reason}", path.display())]
    CaCert {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The client could not be built.
    #[error("the HTTP client cannot be built: {reason}; are CA certificates installed?")]
    Build {
        /// The library's word.
        reason: String,
    },
}

impl NetError {
    /// The `error_type` of a tool that could not reach its place.
    pub fn error_type(&self) -> &'static str {
        match self {
            Self::Url(_) => "bad_argument",
            Self::Address(_) => "blocked_address",
            Self::Blocked(_) => "blocked_policy",
            Self::ConnectTimeout { .. }
            | Self::FirstByteTimeout { .. }
            | Self::IdleTimeout { .. } => "timeout",
            Self::TooLarge { .. } => "too_large",
            Self::Refused(_) => "auth",
            Self::BadHeader { .. }
            | Self::Connect { .. }
            | Self::Tls { .. }
            | Self::Reset { .. }
            | Self::Broken { .. }
            | Self::BadRedirect { .. }
            | Self::TooManyRedirects { .. }
            | Self::CaCert { .. }
            | Self::Build { .. } => "upstream",
        }
    }

    /// The fault behind a failed send.
    pub(crate) fn of_send(url: &Url, error: &reqwest::Error) -> Self {
        let host = url.host_str().unwrap_or_default().to_owned();
        if let Some(refused) = cause::<AddressRefused>(error) {
            return Self::Address(refused.clone());
        }
        let reason = root(error);
        if has_tls_cause(error) {
            return Self::Tls { host, reason };
        }
        match (error.is_connect(), error.is_timeout()) {
            (true, true) => Self::ConnectTimeout { host },
            (true, false) => Self::Connect { host, reason },
            (false, true) => Self::FirstByteTimeout { host },
            (false, false) => Self::Reset { host, reason },
        }
    }

    /// Whether the request certainly never reached the other side.
    pub fn is_unsent(&self) -> bool {
        !matches!(
            self,
            Self::Reset { .. }
                | Self::FirstByteTimeout { .. }
                | Self::IdleTimeout { .. }
                | Self::Broken { .. }
                | Self::TooLarge { .. }
                | Self::BadRedirect { .. }
                | Self::TooManyRedirects { .. }
        )
    }
}

fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

fn cause<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    chain(error).find_map(|cause| cause.downcast_ref::<T>())
}

/// The handshake's errors travel inside an `io::Error`, whose `source` skips them.
fn has_tls_cause(error: &(dyn Error + 'static)) -> bool {
    let inside = |cause: &(dyn Error + 'static)| {
        let carried = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        carried.is_some_and(|inner| inner.downcast_ref::<rustls::Error>().is_some())
    };
    chain(error).any(|cause| cause.is::<rustls::Error>() || inside(cause))
}

/// The innermost cause as text: the outer ones repeat the URL.
pub(crate) fn root(error: &(dyn Error + 'static)) -> String {
    chain(error).last().map_or_else(String::new, ToString::to_string)
}
