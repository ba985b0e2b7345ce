//! Requests of a sign-in, over our network: address rules and redirects are ours.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use petasos_net::{Follow, Method, Net, NetError, Request, Tls, checked_url};
use rmcp::transport::{
    OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRedirectPolicy, OAuthHttpRequest,
};

const ANSWER_MAX: usize = 1024 * 1024;
const WITHIN: Duration = Duration::from_secs(30);

/// The network as the SDK's sign-in wants it.
pub(super) struct OverNet {
    pub(super) net: Arc<Net>,
    pub(super) tls: Tls,
}

impl OverNet {
    async fn send(&self, asked: OAuthHttpRequest) -> Result<http::Response<Vec<u8>>, NetError> {
        let (head, body) = asked.request.into_parts();
        let url = checked_url(&head.uri.to_string())?;
        let method = Method::from_bytes(head.method.as_str().as_bytes()).unwrap_or(Method::GET);
        let within = asked.timeout.unwrap_or(WITHIN).min(WITHIN);
        let mut request = Request::new(method, url).first_byte(within).body(Bytes::from(body));
        request.headers = head.headers;
        request.tls = self.tls.clone();
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
