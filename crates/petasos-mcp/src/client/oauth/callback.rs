//! Waits on this machine for the browser to come back from a sign-in.

use std::io;
use std::time::{Duration, Instant};

use petasos_contract::wait;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// How long the head of a request may take.
const HEAD: Duration = Duration::from_secs(5);
const HEAD_MAX: usize = 16 * 1024;

/// A listener for one answer.
#[derive(Debug)]
pub struct Callback {
    listener: TcpListener,
    redirect: String,
}

impl Callback {
    /// Takes the port, any free one for zero, and keeps it until the answer is there.
    pub async fn bind(host: &str, port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((host, port)).await?;
        let port = listener.local_addr()?.port();
        let redirect = format!("http://{host}:{port}/callback");
        Ok(Self { listener, redirect })
    }

    /// Where the sign-in page sends the browser.
    pub fn redirect(&self) -> &str {
        &self.redirect
    }

    /// The address that the browser came to, with its code.
    pub async fn answer(&self, within: Duration) -> io::Result<String> {
        let deadline = Instant::now() + within;
        loop {
            let accepted =
                wait::until(deadline, "the browser to come back", self.listener.accept());
            let (stream, _) = accepted
                .await
                .map_err(|error| io::Error::new(io::ErrorKind::TimedOut, error.to_string()))??;
            // Browsers also ask for an icon; only the answer counts.
            let until = deadline.min(Instant::now() + HEAD);
            let read = wait::until(until, "a request of the browser", self.read(stream)).await;
            if let Ok(Ok(Some(answer))) = read {
                return Ok(answer);
            }
        }
    }

    async fn read(&self, mut stream: TcpStream) -> io::Result<Option<String>> {
        let mut head = Vec::new();
        let mut piece = [0_u8; 2048];
        while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < HEAD_MAX {
            let count = stream.read(&mut piece).await?;
            if count == 0 {
                break;
            }
            head.extend_from_slice(piece.get(..count).unwrap_or_default());
        }
        let head = String::from_utf8_lossy(&head);
        let target =
            head.lines().next().and_then(|line| line.split(' ').nth(1)).unwrap_or_default();
        let is_answer = target.starts_with("/callback?");
        let (status, text) = if is_answer {
            ("200 OK", "You are signed in. This page can be closed.")
        } else {
            ("404 Not Found", "Nothing here.")
        };
        let reply = format!(
            "HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}",
            text.len()
        );
        stream.write_all(reply.as_bytes()).await?;
        let base = self.redirect.strip_suffix("/callback").unwrap_or(&self.redirect);
        Ok(is_answer.then(|| format!("{base}{target}")))
    }
}
