//! From a host and port to a connection: looked up once, checked, and only then dialled.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use base64::Engine as _;
use petasos_contract::wait;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use url::Url;

use super::{RefusedSite, Shared, plain};
use crate::address::AddressRefused;

const CONNECT_WAIT: Duration = Duration::from_secs(10);
/// The answer of another proxy to CONNECT is one short head.
const HEAD_BYTES_MAX: usize = 8192;

impl Shared {
    /// The addresses of a host that may be reached, or why it may not.
    pub(super) async fn addresses(
        &self,
        host: &str,
        port: u16,
    ) -> Result<Vec<SocketAddr>, RefusedSite> {
        let refuse = |why: String, is_address: bool| RefusedSite {
            host: host.to_owned(),
            port,
            why,
            is_address,
        };
        self.rules.check_host(host).map_err(|blocked| refuse(blocked.to_string(), false))?;
        let reach = self.reach(host, port);
        let literal = plain(host).parse::<IpAddr>();
        let found = match literal {
            Ok(address) => reach
                .check(host, address, &self.rules)
                .map(|()| vec![address])
                .map_err(|refused| refuse(refused.to_string(), true))?,
            Err(_) => match reach.resolve(host, &self.rules).await {
                Ok(found) => found,
                Err(error) if error.is::<AddressRefused>() => {
                    return Err(refuse(error.to_string(), true));
                }
                // The user's own proxy looks names up that this machine cannot.
                Err(_) if self.upstream(host, port).is_some() => Vec::new(),
                Err(error) => {
                    return Err(refuse(format!("{host} has no address: {error}"), false));
                }
            },
        };
        Ok(found.into_iter().map(|address| SocketAddr::new(address, port)).collect())
    }

    /// A connection to a host, or why there is none.
    pub(super) async fn dial(&self, host: &str, port: u16) -> Result<TcpStream, RefusedSite> {
        let refuse =
            |why: String| RefusedSite { host: host.to_owned(), port, why, is_address: false };
        if !self.is_open.load(Ordering::Acquire) {
            return Err(refuse(format!("{host} is not opened: nothing was navigated to yet")));
        }
        if self.is_spent() {
            let megabytes = self.bytes_max / 1_000_000;
            return Err(refuse(format!("{host}: the {megabytes} MB of this turn are used up")));
        }
        let addresses = self.addresses(host, port).await?;
        if let Some(proxy) = self.upstream(host, port) {
            let dialled = self.through(&proxy, host, port).await;
            return dialled
                .map_err(|error| refuse(format!("your proxy did not reach {host}: {error}")));
        }
        let mut last = io::Error::other("it has no address");
        for address in addresses {
            match connected(address).await {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(refuse(format!("cannot connect to {host}: {last}")))
    }

    /// Asks the user's own proxy for a tunnel.
    async fn through(&self, proxy: &Url, host: &str, port: u16) -> io::Result<TcpStream> {
        if proxy.scheme() != "http" {
            return Err(io::Error::other("a browser can only be led through an http:// proxy"));
        }
        let at = proxy.host_str().unwrap_or_default();
        let found = self.rules.look_up(at.trim_start_matches('[').trim_end_matches(']')).await?;
        let first = *found.first().ok_or_else(|| io::Error::other("the proxy has no address"))?;
        let proxy_port = proxy.port_or_known_default().unwrap_or(80);
        let mut stream = connected(SocketAddr::new(first, proxy_port)).await?;
        let mut head = format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n");
        if !proxy.username().is_empty() {
            let pair = format!("{}:{}", proxy.username(), proxy.password().unwrap_or_default());
            let coded = base64::engine::general_purpose::STANDARD.encode(pair);
            head.push_str("Proxy-Authorization: Basic ");
            head.push_str(&coded);
            head.push_str("\r\n");
        }
        head.push_str("\r\n");
        let talk = async {
            stream.write_all(head.as_bytes()).await?;
            answer_head(&mut stream).await
        };
        let status = wait::until(Instant::now() + CONNECT_WAIT, "your proxy", talk)
            .await
            .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        let agreed = status.split(' ').nth(1) == Some("200");
        if agreed { Ok(stream) } else { Err(io::Error::other(status)) }
    }

    fn upstream(&self, host: &str, port: u16) -> Option<Url> {
        let scheme = if port == 80 { "http" } else { "https" };
        let url = Url::parse(&format!("{scheme}://{host}:{port}/")).ok()?;
        self.proxies.of(&url).cloned()
    }
}

async fn connected(address: SocketAddr) -> io::Result<TcpStream> {
    let deadline = Instant::now() + CONNECT_WAIT;
    let stream = wait::until(deadline, "a connection", TcpStream::connect(address))
        .await
        .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// The status line of the answer; reads not one byte past its head.
async fn answer_head(stream: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= HEAD_BYTES_MAX {
            return Err(io::Error::other("its answer is too long"));
        }
        head.push(stream.read_u8().await?);
    }
    let text = String::from_utf8_lossy(&head);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}
