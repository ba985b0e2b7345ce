//! As much of SMTP as one letter needs. A password travels only over an encrypted connection.

use std::io;
use std::time::{Duration, Instant};

use base64::Engine as _;
use petasos_contract::{Secret, wait};
use petasos_net::stream::{self, Protection, Wire};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use crate::platform::SendError;

const ANSWER: Duration = Duration::from_secs(40);
/// The port on which everything is encrypted from the first byte.
const ENCRYPTED: u16 = 465;

struct Talk {
    wire: BufReader<Box<dyn Wire>>,
}

impl Talk {
    /// The code and the words of the server's answer.
    async fn answer(&mut self) -> io::Result<(u16, String)> {
        let mut words = String::new();
        loop {
            let mut line = String::new();
            let read = wait::until(
                Instant::now() + ANSWER,
                "the mail server",
                self.wire.read_line(&mut line),
            )
            .await;
            let count = read.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
            if count == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
            }
            let mut parts = line.trim_end().chars();
            let code: String = parts.by_ref().take(3).collect();
            let more = parts.next() == Some('-');
            words.push_str(parts.as_str());
            if !more {
                return Ok((code.parse().unwrap_or(0), words));
            }
            words.push('\n');
        }
    }

    async fn say(&mut self, line: &str) -> io::Result<(u16, String)> {
        let clean = line.replace(['\r', '\n'], "");
        self.wire.get_mut().write_all(format!("{clean}\r\n").as_bytes()).await?;
        self.wire.get_mut().flush().await?;
        self.answer().await
    }
}

fn before(error: &io::Error) -> SendError {
    SendError::Transient(error.to_string())
}

fn refused(what: &str, code: u16, words: &str) -> SendError {
    let text = format!("{what}: {code} {words}");
    match code {
        400..=499 => SendError::Transient(text),
        530 | 534 | 535 | 538 => SendError::Auth(text),
        552 | 554 if what == "DATA" => SendError::TooLong(text),
        _ => SendError::Unreachable(text),
    }
}

/// Sends one letter to one person.
pub(super) async fn send(
    (host, port): (&str, u16),
    protection: Protection<'_>,
    (from, password): (&str, &Secret),
    (to, letter): (&str, &str),
) -> Result<(), SendError> {
    let first = if port == ENCRYPTED { protection } else { Protection::Bare };
    let wire = stream::connect(host, port, first).await.map_err(|error| before(&error))?;
    let mut talk = Talk { wire: BufReader::new(wire) };
    talk.answer().await.map_err(|error| before(&error))?;
    talk.say("EHLO petasos").await.map_err(|error| before(&error))?;
    if first == Protection::Bare {
        let agreed = talk.say("STARTTLS").await.map_err(|error| before(&error))?;
        if agreed.0 != 220 {
            return Err(SendError::Auth(
                "the mail server does not encrypt: no password is sent".to_owned(),
            ));
        }
        let wire = stream::encrypt(talk.wire.into_inner(), host, protection)
            .await
            .map_err(|error| before(&error))?;
        talk = Talk { wire: BufReader::new(wire) };
        talk.say("EHLO petasos").await.map_err(|error| before(&error))?;
    }
    let login = base64::engine::general_purpose::STANDARD
        .encode(format!("\0{from}\0{}", password.expose()));
    for (what, line, wanted) in [
        ("AUTH", format!("AUTH PLAIN {login}"), 235),
        ("MAIL FROM", format!("MAIL FROM:<{from}>"), 250),
        ("RCPT TO", format!("RCPT TO:<{to}>"), 250),
        ("DATA", "DATA".to_owned(), 354),
    ] {
        let answer = talk.say(&line).await.map_err(|error| before(&error))?;
        if answer.0 != wanted {
            return Err(refused(what, answer.0, &answer.1));
        }
    }
    // From here on the server may have it whatever we hear.
    let unsure = |error: io::Error| SendError::Ambiguous(error.to_string());
    let mut body = String::with_capacity(letter.len() + 64);
    for line in letter.lines() {
        if line.starts_with('.') {
            body.push('.');
        }
        body.push_str(line);
        body.push_str("\r\n");
    }
    body.push_str(".\r\n");
    talk.wire.get_mut().write_all(body.as_bytes()).await.map_err(unsure)?;
    talk.wire.get_mut().flush().await.map_err(unsure)?;
    let answer = talk.answer().await.map_err(unsure)?;
    if answer.0 != 250 {
        return Err(refused("DATA", answer.0, &answer.1));
    }
    if let Err(error) = talk.say("QUIT").await {
        tracing::debug!(%error, "the mail server did not say goodbye");
    }
    Ok(())
}
