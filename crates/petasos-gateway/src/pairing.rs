//! Codes by which strangers are let in: told to them alone, confirmed by the owner.

use petasos_store::{
    AccessStore, Paired, PairingLimits, PairingReceipt, PairingRequest, StoreError,
};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::gateway::Shared;
use crate::intake::Admitted;
use crate::platform::now_ms;

/// Characters that are not taken for each other.
const ALPHABET: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const LENGTH: usize = 8;

/// How many may ask, and how long a code holds.
pub const LIMITS: PairingLimits = PairingLimits {
    life_ms: 3_600_000,
    open_max: 3,
    pause_ms: 600_000,
    wrong_max: 5,
    lock_ms: 3_600_000,
};

/// What confirming a code came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Confirmed {
    /// Somebody is let in.
    Admitted(Paired),
    /// No such code.
    Wrong,
    /// Too many wrong ones were tried.
    Locked,
}

/// Asks for somebody to be let in; gives the code for them, unless they must wait.
pub async fn ask(
    store: &(impl AccessStore + ?Sized),
    platform: &str,
    user: &str,
    name: &str,
    now_ms: i64,
) -> Result<Option<String>, StoreError> {
    let (mut letters, mut salt) = ([0_u8; LENGTH], [0_u8; 16]);
    let random = getrandom::fill(&mut letters).and_then(|()| getrandom::fill(&mut salt));
    random.map_err(|error| StoreError::Failed(format!("no randomness for a code: {error}")))?;
    let code: String = letters
        .iter()
        .filter_map(|byte| ALPHABET.get(usize::from(byte % 32)))
        .map(|byte| char::from(*byte))
        .collect();
    let request = PairingRequest {
        platform: platform.to_owned(),
        user: user.to_owned(),
        name: name.to_owned(),
        digest: digest(&salt, &code),
        salt,
        asked_ms: now_ms,
    };
    let receipt = store.ask_pairing(&request, LIMITS).await?;
    Ok((receipt == PairingReceipt::Asked).then_some(code))
}

/// Confirms a code.
pub async fn confirm(
    store: &(impl AccessStore + ?Sized),
    platform: &str,
    code: &str,
    now_ms: i64,
) -> Result<Confirmed, StoreError> {
    let code = code.trim().to_uppercase();
    let open = store.open_pairings(platform, now_ms, LIMITS).await?;
    // Every open request is compared in full, so that time tells nothing.
    let mut found = None;
    for request in &open {
        let same: bool = digest(&request.salt, &code).ct_eq(&request.digest).into();
        if same {
            found = Some(&request.user);
        }
    }
    if let Some(user) = found
        && let Some(person) = store.admit(platform, user, now_ms).await?
    {
        return Ok(Confirmed::Admitted(person));
    }
    match store.wrong_code(platform, now_ms, LIMITS).await? {
        Some(_) => Ok(Confirmed::Locked),
        None => Ok(Confirmed::Wrong),
    }
}

fn digest(salt: &[u8; 16], code: &str) -> [u8; 32] {
    Sha256::new().chain_update(salt).chain_update(code).finalize().into()
}

impl Shared {
    /// `/pair`: lets people in, in a direct chat with the owner.
    pub(crate) async fn pair(&self, message: &Admitted, words: &str) -> Result<String, StoreError> {
        if message.key.kind.is_shared() {
            return Ok("/pair works in a direct chat only.".to_owned());
        }
        let (action, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
        let (platform, value) = rest
            .trim()
            .split_once(char::is_whitespace)
            .unwrap_or((&message.key.platform, rest.trim()));
        match action {
            "approve" => {
                let done = confirm(&*self.store, platform, value.trim(), now_ms()).await?;
                Ok(match done {
                    Confirmed::Admitted(person) => {
                        format!("{} ({}) may write now.", person.name, person.user)
                    }
                    Confirmed::Wrong => "No such code, or it has lapsed.".to_owned(),
                    Confirmed::Locked => "Too many wrong codes: locked for an hour.".to_owned(),
                })
            }
            "revoke" => {
                let gone = self.store.unpair(platform, value.trim()).await?;
                Ok(if gone {
                    "They may no longer write."
                } else {
                    "Nobody of that name was let in."
                }
                .to_owned())
            }
            _ => {
                let people = self.store.paired(None).await?;
                let line = |it: &petasos_store::Paired| {
                    format!(
                        "- {} {} ({}){}",
                        it.platform,
                        it.user,
                        it.name,
                        if it.owner { ", owner" } else { "" }
                    )
                };
                let lines: Vec<String> = people.iter().map(line).collect();
                Ok(if lines.is_empty() { "Nobody is paired.".to_owned() } else { lines.join("\n") })
            }
        }
    }
}
