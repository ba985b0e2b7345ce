//! Requests of a sign-in, over our network: address rules and redirects are ours.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use petasos_net::{
    Follow, Identity, Method, Net, NetError, Origin, Request, Tls, Url, checked_url,
};
use rmcp::transport::{
    OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRedirectPolicy, OAuthHttpRequest,
};

const ANSWER_MAX: usize = 1024 * 1024;
const WITHIN: Duration = Duration::from_secs(30);

/// The network as the SDK's sign-in wants it.
pub(super) struct OverNet {
    pub(super) net: Arc<Net>,
    pub(super) tls: Tls,
    /// The certificate that we show to this origin, and to no other.
    pub(super) identity: Option<(Identity, Option<Origin>)>,
}

impl OverNet {
    fn identity_for(&self, url: &Url) -> Option<Identity> {
        let own = self.identity.as_ref().filter(|(_, server)| *server == Origin::of(url));
        own.map(|(identity, _)| identity.clone())
    }

    /// A document, read whole.
    pub(super) async fn read(&self, url: &Url) -> Result<Bytes, NetError> {
        let mut request = Request::new(Method::GET, url.clone()).first_byte(WITHIN);
        request.tls = self.tls.clone();
        request.identity = self.identity_for(url);
        request.follow = Follow::Nowhere;
        self.net.send(request).await?.bytes(ANSWER_MAX, WITHIN).await
    }

    async fn send(&self, asked: OAuthHttpRequest) -> Result<http::Response<Vec<u8>>, NetError> {
        let (head, body) = asked.request.into_parts();
        let url = checked_url(&head.uri.to_string())?;
        let method = Method::from_bytes(head.method.as_str().as_bytes()).unwrap_or(Method::GET);
        let within = asked.timeout.unwrap_or(WITHIN).min(WITHIN);
        let identity = self.identity_for(&url);
        let mut request = Request::new(method, url).first_byte(within).body(Bytes::from(body));
        request.headers = head.headers;
        request.tls = self.tls.clone();
        request.identity = identity;
        request.follow = match asked.redirect_policy {
            OAuthHttpRedirectPolicy::Follow => Follow::Anywhere,
            // Codes and refresh tokens travel in bodies.
            _ => Follow::Nowhere,
        };
        let reply = self.net.send(request).await?;
        let (status, headers) = (reply.status, reply.headers.clone());
        let body = reply.bytes(ANSWER_MAX, WITHIN).await?;
        let mut response = http::Response::new(body.to_vec());
        *response.status_mut() =
            http::StatusCode::from_u16(status).unwrap_or(http::StatusCode::BAD_GATEWAY);
        *response.headers_mut() = headers;
        Ok(response)
    }
}

impl OAuthHttpClient for OverNet {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move { self.send(request).await.map_err(Into::into) })
    }
}
