//! As much of SMTP as one letter needs. A password travels only over an encrypted connection.

use std::io;
use std::time::{Duration, Instant};

use base64::Engine as _;
use petasos_contract::{Secret, wait};
use petasos_net::stream::{self, Protection, Wire};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};

const ANSWER: Duration = Duration::from_secs(40);
/// The port on which everything is encrypted from the first byte.
const ENCRYPTED: u16 = 465;
const LINE_BYTES_MAX: u64 = 64 << 10;
const LINES_MAX: usize = 200;

/// A letter that was not sent, or may have been.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SmtpError {
    /// Certainly not arrived; again later.
    #[error("{0}")]
    Transient(String),
    /// It may have arrived.
    #[error("{0}")]
    Ambiguous(String),
    /// The server takes no letter of this length.
    #[error("{0}")]
    TooLong(String),
    /// Somebody it is for cannot be written to.
    #[error("{0}")]
    Unreachable(String),
    /// The account itself is refused.
    #[error("{0}")]
    Auth(String),
}

struct Talk {
    wire: BufReader<Box<dyn Wire>>,
}

impl Talk {
    /// The code and the words of the server's answer.
    async fn answer(&mut self) -> io::Result<(u16, String)> {
        let mut words = String::new();
        for _ in 0..LINES_MAX {
            let mut line = Vec::new();
            let mut bounded = (&mut self.wire).take(LINE_BYTES_MAX);
            let reading = bounded.read_until(b'\n', &mut line);
            let read = wait::until(Instant::now() + ANSWER, "the mail server", reading).await;
            read.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
            if line.last() != Some(&b'\n') {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
            }
            let line = String::from_utf8_lossy(&line);
            let mut parts = line.trim_end().chars();
            let code: String = parts.by_ref().take(3).collect();
            let more = parts.next() == Some('-');
            words.push_str(parts.as_str());
            if !more {
                return Ok((code.parse().unwrap_or(0), words));
            }
            words.push('\n');
        }
        Err(io::Error::other("the mail server's answer has no end"))
    }

    async fn say(&mut self, line: &str) -> io::Result<(u16, String)> {
        let clean = line.replace(['\r', '\n'], "");
        self.wire.get_mut().write_all(format!("{clean}\r\n").as_bytes()).await?;
        self.wire.get_mut().flush().await?;
        self.answer().await
    }
}

fn before(error: &io::Error) -> SmtpError {
    SmtpError::Transient(error.to_string())
}

fn refused(what: &str, code: u16, words: &str) -> SmtpError {
    let text = format!("{what}: {code} {words}");
    match code {
        400..=499 => SmtpError::Transient(text),
        530 | 534 | 535 | 538 => SmtpError::Auth(text),
        552 | 554 if what == "DATA" => SmtpError::TooLong(text),
        _ => SmtpError::Unreachable(text),
    }
}

/// An account at a mail server.
#[derive(Debug, Clone, Copy)]
pub struct Login<'a> {
    /// The server.
    pub host: &'a str,
    /// Its port.
    pub port: u16,
    /// How the connection is protected.
    pub protection: Protection<'a>,
    /// The name of the account.
    pub user: &'a str,
    /// Its password.
    pub password: &'a Secret,
}

/// Sends one letter; to all of them or to nobody.
pub async fn send(
    login: Login<'_>,
    from: &str,
    to: &[&str],
    letter: &str,
) -> Result<(), SmtpError> {
    let mut talk = introduced(login).await?;
    let secret = format!("\0{}\0{}", login.user, login.password.expose());
    let secret = base64::engine::general_purpose::STANDARD.encode(secret);
    let mut steps = vec![
        ("AUTH", format!("AUTH PLAIN {secret}"), 235),
        ("MAIL FROM", format!("MAIL FROM:<{from}>"), 250),
    ];
    steps.extend(to.iter().map(|to| ("RCPT TO", format!("RCPT TO:<{to}>"), 250)));
    steps.push(("DATA", "DATA".to_owned(), 354));
    for (what, line, wanted) in steps {
        let answer = talk.say(&line).await.map_err(|error| before(&error))?;
        if answer.0 != wanted {
            return Err(refused(what, answer.0, &answer.1));
        }
    }
    handed_over(&mut talk, letter).await?;
    if let Err(error) = talk.say("QUIT").await {
        tracing::debug!(%error, "the mail server did not say goodbye");
    }
    Ok(())
}

/// A connection that is encrypted and greeted.
async fn introduced(login: Login<'_>) -> Result<Talk, SmtpError> {
    let Login { host, port, protection, .. } = login;
    let first = if port == ENCRYPTED { protection } else { Protection::Bare };
    let wire = stream::connect(host, port, first).await.map_err(|error| before(&error))?;
    let mut talk = Talk { wire: BufReader::new(wire) };
    talk.answer().await.map_err(|error| before(&error))?;
    talk.say("EHLO petasos").await.map_err(|error| before(&error))?;
    if first == Protection::Bare {
        let agreed = talk.say("STARTTLS").await.map_err(|error| before(&error))?;
        if agreed.0 != 220 {
            return Err(SmtpError::Auth(
                "the mail server does not encrypt: no password is sent".to_owned(),
            ));
        }
        let wire = stream::encrypt(talk.wire.into_inner(), host, protection)
            .await
            .map_err(|error| before(&error))?;
        talk = Talk { wire: BufReader::new(wire) };
        talk.say("EHLO petasos").await.map_err(|error| before(&error))?;
    }
    Ok(talk)
}

/// From here on the server may have it whatever we hear.
async fn handed_over(talk: &mut Talk, letter: &str) -> Result<(), SmtpError> {
    let unsure = |error: io::Error| SmtpError::Ambiguous(error.to_string());
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
    if answer.0 == 250 { Ok(()) } else { Err(refused("DATA", answer.0, &answer.1)) }
}
