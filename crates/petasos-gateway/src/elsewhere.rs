//! Files of places that are not this machine: a container, a host behind ssh. What a model made
//! there is fetched when it is sent, so that a restart in between loses nothing, and what a person
//! sent is put there before the turn begins.

use std::path::Path;

use petasos_contract::SessionId;
use petasos_contract::message::{Content, Part};
use petasos_session::Input;
use petasos_store::{InboxRow, MediaFile, OutboxRow};
use sha2::{Digest as _, Sha256};

use crate::account::Account;
use crate::gateway::Shared;
use crate::media;

/// How the path of a file begins that is elsewhere: then come its session and its place there.
const THERE: &str = "there:";
/// How the path of a file begins that could not be fetched: then comes why.
const MISSING: &str = "missing:";

/// A file that is wanted from where commands run.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The conversation whose commands run there.
    pub session: &'a SessionId,
    /// Where it is there.
    pub path: &'a str,
    /// Where it goes here.
    pub to: &'a Path,
    /// How large it may be.
    pub bytes_max: u64,
}

/// A file of the place in which the commands of a message's conversation run.
pub(crate) fn file(row: &InboxRow, path: &str) -> Option<MediaFile> {
    let session = row.session.as_ref()?;
    let name = path.rsplit('/').next().unwrap_or(path).to_owned();
    let mime = media::mime_of(&name).to_owned();
    Some(MediaFile { path: format!("{THERE}{session}:{path}"), mime, name })
}

/// Why a file is not here.
pub(crate) fn missing(file: &MediaFile) -> Option<&str> {
    file.path.strip_prefix(MISSING)
}

impl Shared {
    /// Whether a file of this message may be elsewhere.
    pub(crate) fn is_elsewhere(&self, row: &InboxRow) -> bool {
        row.session.is_some() && self.host.is_elsewhere()
    }

    /// The message with its files here.
    pub(crate) async fn brought(&self, account: &Account, mut row: OutboxRow) -> OutboxRow {
        for file in &mut row.delivery.media {
            let Some(there) = file.path.strip_prefix(THERE) else { continue };
            file.path = match self.fetch(there, account.def.media_bytes_max).await {
                Ok(path) => path,
                Err(why) => format!("{MISSING}{why}"),
            };
        }
        row
    }

    /// Fetches a file once, however often its message is tried.
    async fn fetch(&self, there: &str, bytes_max: u64) -> Result<String, String> {
        let (session, path) = there.split_once(':').ok_or("its place is not known")?;
        let folder = self.settings.lock().home().join(media::DOCUMENTS);
        media::make_private(&folder).map_err(|error| error.to_string())?;
        let digest = Sha256::digest(there.as_bytes());
        let name = digest.iter().take(12).fold(0_u128, |sum, byte| (sum << 8) | u128::from(*byte));
        let ending: String = path.rsplit('.').next().unwrap_or_default().to_lowercase();
        let ending: String = ending.chars().filter(char::is_ascii_alphanumeric).take(8).collect();
        let to = folder.join(format!("{name:024x}.{ending}"));
        let session = SessionId::new(session);
        self.host.fetched(Wanted { session: &session, path, to: &to, bytes_max }).await?;
        Ok(to.display().to_string())
    }

    /// The input with word of where its files are for commands, where that is elsewhere.
    pub(crate) async fn with_copies(&self, mut input: Input, row: &InboxRow) -> Input {
        let Some(session) = row.session.as_ref().filter(|_| self.host.is_elsewhere()) else {
            return input;
        };
        let mut told = String::new();
        for file in &row.message.media {
            if let Some(there) = self.host.lent(session, &file.path).await {
                let line = format_args!("\n[for commands, {} is {there}]", file.path);
                crate::render::add(&mut told, line);
            }
        }
        if told.is_empty() {
            return input;
        }
        input.content = match input.content {
            Content::Text(text) => Content::Text(format!("{text}{told}")),
            Content::Parts(mut parts) => {
                parts.push(Part::text(told.trim()));
                Content::Parts(parts)
            }
        };
        input
    }
}
