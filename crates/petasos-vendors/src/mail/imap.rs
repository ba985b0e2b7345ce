//! As much of IMAP as a mailbox needs: log in, look, search, fetch, keep, wait.

use std::io;
use std::time::{Duration, Instant};

use petasos_contract::{Secret, wait};
use petasos_net::stream::{self, Protection, Wire};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};

const ANSWER: Duration = Duration::from_mins(1);
/// The largest letter that is read.
const LETTER_BYTES_MAX: usize = 30_000_000;
/// The longest line that a server may send: a search that finds a hundred thousand letters.
const LINE_BYTES_MAX: u64 = 1 << 20;
/// All that one answer may hold.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// A part of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Words of the protocol.
    Words(String),
    /// Somebody's text, sent so that the server cannot take it for words.
    Text(String),
}

/// A mailbox that is connected.
pub struct Mailbox {
    wire: BufReader<Box<dyn Wire>>,
    count: u32,
    idles: bool,
}

impl std::fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mailbox").field("count", &self.count).finish_non_exhaustive()
    }
}

/// What the server said to a command: its lines, and what came as literals.
struct Said {
    lines: Vec<String>,
    literals: Vec<Vec<u8>>,
    ok: bool,
}

impl Said {
    /// Lines with the literal that each ends in, and what stands behind it.
    fn items(self) -> impl Iterator<Item = (String, Vec<u8>)> {
        let mut literals = self.literals.into_iter();
        let mut lines = self.lines.into_iter().peekable();
        std::iter::from_fn(move || {
            while let Some(line) = lines.next() {
                if literal_size(&line).is_some() {
                    let behind = lines.peek().cloned().unwrap_or_default();
                    return Some((format!("{line} {behind}"), literals.next()?));
                }
            }
            None
        })
    }

    /// The words behind the tag, for errors.
    fn verdict(&self) -> String {
        self.lines.last().cloned().unwrap_or_default()
    }
}

/// The head of a letter, as a list shows it.
#[derive(Debug, Clone)]
pub struct Glimpse {
    /// Its number.
    pub uid: u32,
    /// Its flags, such as `\Seen`.
    pub flags: Vec<String>,
    /// Its size in bytes.
    pub size: u64,
    /// Its headers.
    pub head: Vec<u8>,
}

fn literal_size(line: &str) -> Option<usize> {
    line.strip_suffix('}')?.rsplit_once('{')?.1.parse().ok()
}

/// A text between quotes; only for what holds no line end and nothing but ASCII.
fn quoted(text: &str) -> String {
    let clean = text.replace('\\', "\\\\").replace('"', "\\\"").replace(['\r', '\n', '\0'], "");
    format!("\"{clean}\"")
}

/// The name of a folder as the protocol spells it: other scripts as base64 of UTF-16.
fn folder_name(name: &str) -> String {
    use base64::Engine as _;
    let engine = base64::engine::general_purpose::STANDARD_NO_PAD;
    let (mut spelled, mut other) = (String::new(), Vec::new());
    let flush = |spelled: &mut String, other: &mut Vec<u8>| {
        if !other.is_empty() {
            let coded = engine.encode(&*other).replace('/', ",");
            spelled.push('&');
            spelled.push_str(&coded);
            spelled.push('-');
            other.clear();
        }
    };
    for c in name.chars() {
        if c == '&' {
            flush(&mut spelled, &mut other);
            spelled.push_str("&-");
        } else if (' '..='~').contains(&c) {
            flush(&mut spelled, &mut other);
            spelled.push(c);
        } else {
            let mut units = [0_u16; 2];
            for unit in c.encode_utf16(&mut units) {
                other.extend(unit.to_be_bytes());
            }
        }
    }
    flush(&mut spelled, &mut other);
    quoted(&spelled)
}

/// The name behind such a spelling; one that makes no sense stays as it is.
fn spoken_name(spelled: &str) -> String {
    use base64::Engine as _;
    let engine = base64::engine::general_purpose::STANDARD_NO_PAD;
    let (mut name, mut rest) = (String::new(), spelled);
    while let Some((before, after)) = rest.split_once('&') {
        name.push_str(before);
        let Some((coded, behind)) = after.split_once('-') else { return spelled.to_owned() };
        if coded.is_empty() {
            name.push('&');
        } else {
            let Ok(bytes) = engine.decode(coded.replace(',', "/")) else {
                return spelled.to_owned();
            };
            let units = bytes.chunks_exact(2).filter_map(|pair| <[u8; 2]>::try_from(pair).ok());
            let letters = char::decode_utf16(units.map(u16::from_be_bytes));
            name.extend(letters.map(|letter| letter.unwrap_or('\u{fffd}')));
        }
        rest = behind;
    }
    name.push_str(rest);
    name
}

impl Mailbox {
    /// Connects; nothing was said yet.
    pub async fn connect(host: &str, port: u16, protection: Protection<'_>) -> io::Result<Self> {
        let wire = stream::connect(host, port, protection).await?;
        let mut mailbox = Self { wire: BufReader::new(wire), count: 0, idles: false };
        mailbox.line().await?;
        Ok(mailbox)
    }

    async fn line(&mut self) -> io::Result<String> {
        let mut line = Vec::new();
        let mut bounded = (&mut self.wire).take(LINE_BYTES_MAX);
        let reading = bounded.read_until(b'\n', &mut line);
        let read = wait::until(Instant::now() + ANSWER, "the mail server", reading).await;
        read.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        match line.last() {
            None => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
            Some(b'\n') => Ok(String::from_utf8_lossy(&line).trim_end().to_owned()),
            Some(_) => Err(io::Error::other("the mail server's line has no end")),
        }
    }

    async fn say(&mut self, text: &str) -> io::Result<()> {
        self.wire.get_mut().write_all(text.as_bytes()).await?;
        self.wire.get_mut().flush().await
    }

    async fn command(&mut self, words: &str) -> io::Result<Said> {
        self.spoken(&[Piece::Words(words.to_owned())]).await
    }

    /// Says a command with texts in it; each waits until the server is ready for it.
    async fn spoken(&mut self, pieces: &[Piece]) -> io::Result<Said> {
        self.count += 1;
        let tag = format!("a{}", self.count);
        self.say(&tag).await?;
        for piece in pieces {
            match piece {
                Piece::Words(words) => self.say(&format!(" {words}")).await?,
                Piece::Text(text) => {
                    self.say(&format!(" {{{}}}\r\n", text.len())).await?;
                    loop {
                        let line = self.line().await?;
                        if line.starts_with('+') {
                            break;
                        }
                        if let Some(rest) = line.strip_prefix(&format!("{tag} ")) {
                            let (lines, ok) = (vec![rest.to_owned()], false);
                            return Ok(Said { lines, literals: Vec::new(), ok });
                        }
                    }
                    self.say(text).await?;
                }
            }
        }
        self.say("\r\n").await?;
        self.until(&tag).await
    }

    async fn until(&mut self, tag: &str) -> io::Result<Said> {
        let mut said = Said { lines: Vec::new(), literals: Vec::new(), ok: false };
        let mut held = 0;
        loop {
            let line = self.line().await?;
            held += line.len();
            if let Some(rest) = line.strip_prefix(&format!("{tag} ")) {
                said.ok = rest.starts_with("OK");
                said.lines.push(rest.to_owned());
                return Ok(said);
            }
            if let Some(size) = literal_size(&line) {
                held = held.saturating_add(size);
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
            if held > ANSWER_BYTES_MAX {
                return Err(io::Error::other("the mail server's answer has no end"));
            }
            said.lines.push(line);
        }
    }

    /// Whether the server lets us in.
    pub async fn log_in(&mut self, user: &str, password: &Secret) -> io::Result<bool> {
        let login = format!("LOGIN {} {}", quoted(user), quoted(password.expose()));
        if !self.command(&login).await?.ok {
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

    /// Opens a folder; gives the number that tells whether its numbers still hold, and nothing
    /// where there is no such folder.
    pub async fn open(&mut self, folder: &str) -> io::Result<Option<String>> {
        let said = self.command(&format!("SELECT {}", folder_name(folder))).await?;
        let validity = said.lines.iter().find_map(|line| {
            let (_, rest) = line.split_once("[UIDVALIDITY ")?;
            Some(rest.split(']').next()?.trim().to_owned())
        });
        Ok(validity.filter(|_| said.ok))
    }

    /// Opens the inbox, which every mailbox has.
    pub async fn select(&mut self) -> io::Result<String> {
        let validity = self.open("INBOX").await?;
        validity.ok_or_else(|| io::Error::other("the inbox cannot be opened"))
    }

    /// The names of the folders with their special uses, such as `\Drafts`.
    pub async fn folders(&mut self) -> io::Result<Vec<(String, String)>> {
        let said = self.command("LIST \"\" \"*\"").await?;
        let rows = said.lines.iter().filter_map(|line| {
            let rest = line.strip_prefix("* LIST (")?;
            let (uses, rest) = rest.split_once(')')?;
            // Behind the flags stand the separator and the name.
            let (_, name) = rest.trim_start().split_once(' ')?;
            Some((spoken_name(name.trim().trim_matches('"')), uses.to_owned()))
        });
        Ok(rows.collect())
    }

    /// The letters of the open folder that fit, the oldest first.
    pub async fn search(&mut self, criteria: &[Piece]) -> io::Result<Vec<u32>> {
        let texts = criteria.iter().any(|piece| matches!(piece, Piece::Text(_)));
        let head = if texts { "UID SEARCH CHARSET UTF-8" } else { "UID SEARCH" };
        let mut pieces = vec![Piece::Words(head.to_owned())];
        pieces.extend_from_slice(criteria);
        let said = self.spoken(&pieces).await?;
        if !said.ok {
            return Err(io::Error::other(format!("it does not search: {}", said.verdict())));
        }
        let found = said.lines.iter().filter_map(|line| line.strip_prefix("* SEARCH"));
        let mut uids: Vec<u32> =
            found.flat_map(str::split_whitespace).filter_map(|word| word.parse().ok()).collect();
        uids.sort_unstable();
        Ok(uids)
    }

    /// The newest number there is.
    pub async fn newest(&mut self) -> io::Result<u32> {
        let all = self.search(&[Piece::Words("UID *".to_owned())]).await?;
        Ok(all.last().copied().unwrap_or(0))
    }

    /// Letters behind a number, the oldest first.
    pub async fn after(&mut self, last: u32) -> io::Result<Vec<u32>> {
        let range = format!("UID {}:*", last.saturating_add(1));
        let mut uids = self.search(&[Piece::Words(range)]).await?;
        // A range that begins behind the end still finds the last one.
        uids.retain(|uid| *uid > last);
        Ok(uids)
    }

    /// The heads of letters; looking leaves no mark.
    pub async fn glimpses(&mut self, uids: &[u32]) -> io::Result<Vec<Glimpse>> {
        if uids.is_empty() {
            return Ok(Vec::new());
        }
        let set: Vec<String> = uids.iter().map(ToString::to_string).collect();
        let fields = "FROM TO CC REPLY-TO SUBJECT DATE MESSAGE-ID REFERENCES IN-REPLY-TO";
        let said = self
            .command(&format!(
                "UID FETCH {} (UID FLAGS RFC822.SIZE BODY.PEEK[HEADER.FIELDS ({fields})])",
                set.join(",")
            ))
            .await?;
        let number = |line: &str, key: &str| {
            let (_, rest) = line.split_once(key)?;
            rest.split([' ', ')']).find(|word| !word.is_empty())?.parse::<u64>().ok()
        };
        let seen = said.items().filter_map(|(line, head)| {
            let uid = u32::try_from(number(&line, "UID ")?).ok()?;
            let flags = line.split_once("FLAGS (").and_then(|(_, rest)| rest.split_once(')'));
            let flags =
                flags.map(|(flags, _)| flags.split_whitespace().map(str::to_owned).collect());
            let size = number(&line, "RFC822.SIZE ").unwrap_or(0);
            Some(Glimpse { uid, flags: flags.unwrap_or_default(), size, head })
        });
        Ok(seen.collect())
    }

    /// A letter as it came; looking leaves no mark.
    pub async fn fetch(&mut self, uid: u32) -> io::Result<Vec<u8>> {
        let mut said = self.command(&format!("UID FETCH {uid} (BODY.PEEK[])")).await?;
        Ok(said.literals.pop().unwrap_or_default())
    }

    /// Makes a folder.
    pub async fn create(&mut self, folder: &str) -> io::Result<()> {
        let said = self.command(&format!("CREATE {}", folder_name(folder))).await?;
        if said.ok { Ok(()) } else { Err(io::Error::other(said.verdict())) }
    }

    /// Puts a letter into a folder; the server's refusal is the error's text.
    pub async fn keep(&mut self, folder: &str, flags: &str, letter: &str) -> io::Result<()> {
        let head = Piece::Words(format!("APPEND {} ({flags})", folder_name(folder)));
        let said = self.spoken(&[head, Piece::Text(letter.to_owned())]).await?;
        if said.ok { Ok(()) } else { Err(io::Error::other(said.verdict())) }
    }

    /// Says goodbye.
    pub async fn leave(mut self) {
        if let Err(error) = self.command("LOGOUT").await {
            tracing::debug!(%error, "the mail server was gone before we left");
        }
    }

    /// Waits until there may be news.
    pub async fn wait(&mut self, most: Duration, poll: Duration) -> io::Result<()> {
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
            let mut bounded = (&mut self.wire).take(LINE_BYTES_MAX);
            let reading = bounded.read_until(b'\n', &mut line);
            let next = wait::until(deadline, "news of the mailbox", reading).await;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_other_scripts_are_spelled_as_the_protocol_wants_them() {
        assert_eq!(folder_name("Entwürfe"), "\"Entw&APw-rfe\"");
        assert_eq!(folder_name("A&B \"x\""), "\"A&-B \\\"x\\\"\"");
        assert_eq!(folder_name("台北"), "\"&U,BTFw-\"");
        assert_eq!(folder_name("a\r\nb"), "\"a&AA0ACg-b\"");
        for name in ["Entwürfe", "A&B", "台北", "plain", "x & 🎩"] {
            assert_eq!(spoken_name(folder_name(name).trim_matches('"')), name);
        }
    }
}
