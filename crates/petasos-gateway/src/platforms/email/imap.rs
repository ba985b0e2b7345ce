//! As much of IMAP as a mailbox needs: log in, look, fetch, wait.

use std::io;
use std::time::{Duration, Instant};

use petasos_contract::{Secret, wait};
use petasos_net::stream::{self, Protection, Wire};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};

const ANSWER: Duration = Duration::from_mins(1);
/// The largest letter that is read.
const LETTER_BYTES_MAX: usize = 30_000_000;

/// A mailbox that is connected.
pub(super) struct Mailbox {
    wire: BufReader<Box<dyn Wire>>,
    count: u32,
    idles: bool,
}

/// What the server said to a command: its lines, and what came as literals.
struct Said {
    lines: Vec<String>,
    literals: Vec<Vec<u8>>,
    ok: bool,
}

impl Mailbox {
    pub(super) async fn connect(
        host: &str,
        port: u16,
        protection: Protection<'_>,
    ) -> io::Result<Self> {
        let wire = stream::connect(host, port, protection).await?;
        let mut mailbox = Self { wire: BufReader::new(wire), count: 0, idles: false };
        mailbox.line().await?;
        Ok(mailbox)
    }

    async fn line(&mut self) -> io::Result<String> {
        let mut line = Vec::new();
        let read = wait::until(
            Instant::now() + ANSWER,
            "the mail server",
            self.wire.read_until(b'\n', &mut line),
        )
        .await;
        let count = read.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        if count == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
    }

    async fn say(&mut self, text: &str) -> io::Result<()> {
        self.wire.get_mut().write_all(text.as_bytes()).await?;
        self.wire.get_mut().flush().await
    }

    async fn command(&mut self, words: &str) -> io::Result<Said> {
        self.count += 1;
        let tag = format!("a{}", self.count);
        self.say(&format!("{tag} {words}\r\n")).await?;
        self.until(&tag).await
    }

    async fn until(&mut self, tag: &str) -> io::Result<Said> {
        let mut said = Said { lines: Vec::new(), literals: Vec::new(), ok: false };
        loop {
            let line = self.line().await?;
            if let Some(rest) = line.strip_prefix(&format!("{tag} ")) {
                said.ok = rest.starts_with("OK");
                said.lines.push(rest.to_owned());
                return Ok(said);
            }
            let literal = line
                .strip_suffix('}')
                .and_then(|head| head.rsplit_once('{'))
                .and_then(|(_, size)| size.parse::<usize>().ok());
            if let Some(size) = literal {
                if size > LETTER_BYTES_MAX {
                    return Err(io::Error::other("a letter that is too large"));
                }
                let mut bytes = vec![0; size];
                let read = wait::until(
                    Instant::now() + ANSWER,
                    "a letter",
                    self.wire.read_exact(&mut bytes),
                )
                .await;
                read.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
                said.literals.push(bytes);
            }
            said.lines.push(line);
        }
    }

    /// Whether the server lets us in.
    pub(super) async fn log_in(&mut self, user: &str, password: &Secret) -> io::Result<bool> {
        let quoted = |text: &str| {
            format!(
                "\"{}\"",
                text.replace('\\', "\\\\").replace('"', "\\\"").replace(['\r', '\n'], "")
            )
        };
        let said =
            self.command(&format!("LOGIN {} {}", quoted(user), quoted(password.expose()))).await?;
        if !said.ok {
            return Ok(false);
        }
        let able = self.command("CAPABILITY").await?;
        self.idles =
            able.lines.iter().any(|line| line.split_whitespace().any(|word| word == "IDLE"));
        // Some servers want to know who reads before they show anything.
        if able.lines.iter().any(|line| line.split_whitespace().any(|word| word == "ID")) {
            self.command("ID (\"name\" \"petasos\")").await?;
        }
        Ok(true)
    }

    /// Opens the inbox; gives the number that tells whether its numbers still hold.
    pub(super) async fn select(&mut self) -> io::Result<String> {
        let said = self.command("SELECT INBOX").await?;
        let validity = said.lines.iter().find_map(|line| {
            let (_, rest) = line.split_once("[UIDVALIDITY ")?;
            Some(rest.split(']').next()?.trim().to_owned())
        });
        validity.filter(|_| said.ok).ok_or_else(|| io::Error::other("the inbox cannot be opened"))
    }

    async fn search(&mut self, range: &str) -> io::Result<Vec<u32>> {
        let said = self.command(&format!("UID SEARCH UID {range}")).await?;
        let found = said.lines.iter().filter_map(|line| line.strip_prefix("* SEARCH"));
        let mut uids: Vec<u32> =
            found.flat_map(str::split_whitespace).filter_map(|word| word.parse().ok()).collect();
        uids.sort_unstable();
        Ok(uids)
    }

    /// The newest number there is.
    pub(super) async fn newest(&mut self) -> io::Result<u32> {
        Ok(self.search("*").await?.last().copied().unwrap_or(0))
    }

    /// Letters behind a number, the oldest first.
    pub(super) async fn after(&mut self, last: u32) -> io::Result<Vec<u32>> {
        let mut uids = self.search(&format!("{}:*", last.saturating_add(1))).await?;
        // A range that begins behind the end still finds the last one.
        uids.retain(|uid| *uid > last);
        Ok(uids)
    }

    /// A letter as it came; looking leaves no mark.
    pub(super) async fn fetch(&mut self, uid: u32) -> io::Result<Vec<u8>> {
        let mut said = self.command(&format!("UID FETCH {uid} (BODY.PEEK[])")).await?;
        Ok(said.literals.pop().unwrap_or_default())
    }

    /// Waits until there may be news.
    pub(super) async fn wait(&mut self, most: Duration, poll: Duration) -> io::Result<()> {
        if !self.idles {
            tokio::time::sleep(poll).await;
            return self.command("NOOP").await.map(drop);
        }
        self.count += 1;
        let tag = format!("a{}", self.count);
        self.say(&format!("{tag} IDLE\r\n")).await?;
        let deadline = Instant::now() + most;
        loop {
            let mut line = Vec::new();
            let next = wait::until(
                deadline,
                "news of the mailbox",
                self.wire.read_until(b'\n', &mut line),
            )
            .await;
            match next {
                Ok(Ok(0)) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
                Ok(Ok(_)) if String::from_utf8_lossy(&line).contains("EXISTS") => break,
                Ok(Ok(_)) => {}
                Ok(Err(error)) => return Err(error),
                Err(_) => break,
            }
        }
        self.say("DONE\r\n").await?;
        self.until(&tag).await.map(drop)
    }
}
