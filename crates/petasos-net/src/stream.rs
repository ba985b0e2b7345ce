//! A bare connection for protocols that are not HTTP: mail, IRC, MQTT. Encrypted unless it stays on
//! this machine or the user said otherwise.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::wait;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls_platform_verifier::ConfigVerifierExt as _;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

const CONNECT_WAIT: Duration = Duration::from_secs(20);

/// Bytes in both directions.
pub trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// How a bare connection is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection<'a> {
    /// Encrypted, with the certificates that the system trusts.
    Trusted,
    /// Encrypted, with the certificates of this file.
    Pinned(&'a Path),
    /// Not at all: the user said so, or it stays on this machine.
    Bare,
}

/// Connects to a host.
pub async fn connect(
    host: &str,
    port: u16,
    protection: Protection<'_>,
) -> io::Result<Box<dyn Wire>> {
    let deadline = Instant::now() + CONNECT_WAIT;
    let dialled = wait::until(deadline, "a connection", TcpStream::connect((host, port))).await;
    let stream = dialled.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    stream.set_nodelay(true)?;
    if protection == Protection::Bare {
        return Ok(Box::new(stream));
    }
    encrypt(Box::new(stream), host, protection).await
}

/// Encrypts a connection that began without, as mail servers want it.
pub async fn encrypt(
    stream: Box<dyn Wire>,
    host: &str,
    protection: Protection<'_>,
) -> io::Result<Box<dyn Wire>> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    let config = match protection {
        Protection::Bare => return Ok(stream),
        Protection::Pinned(file) => {
            let mut roots = rustls::RootCertStore::empty();
            for certificate in CertificateDer::pem_file_iter(file).map_err(io::Error::other)? {
                roots.add(certificate.map_err(io::Error::other)?).map_err(io::Error::other)?;
            }
            builder.with_root_certificates(roots).with_no_client_auth()
        }
        Protection::Trusted => {
            // Another part of the process may have installed one first; either serves.
            if rustls::crypto::aws_lc_rs::default_provider().install_default().is_err() {
                tracing::debug!("a crypto provider was already installed");
            }
            rustls::ClientConfig::with_platform_verifier().map_err(io::Error::other)?
        }
    };
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    let handshake = TlsConnector::from(Arc::new(config)).connect(name, stream);
    let deadline = Instant::now() + CONNECT_WAIT;
    let stream = wait::until(deadline, "a TLS handshake", handshake).await;
    Ok(Box::new(stream.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??))
}
