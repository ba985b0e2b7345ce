//! SCRAM-SHA-256: the password is proved and never sent, and the server proves that it knows it.

use std::num::NonZeroU32;

use aws_lc_rs::{constant_time, digest, hmac, pbkdf2};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use petasos_contract::Secret;

use super::PostgresError;
use super::wire::{Answer, Conversation};

/// More rounds than this are a server that wants to keep us busy.
const ROUNDS_MAX: u32 = 1_000_000;
/// The usual strength of a server is 4096.
const ROUNDS_MIN: u32 = 4096;
const HASH: usize = 32;

/// Proves the password to the server.
pub(super) async fn run(server: &mut Conversation, password: &Secret) -> Result<(), PostgresError> {
    let mut random = [0_u8; 18];
    aws_lc_rs::rand::fill(&mut random)
        .map_err(|_| PostgresError::Auth("there is no randomness for a login".to_owned()))?;
    let nonce = STANDARD.encode(random);
    let bare = format!("n=,r={nonce}");
    server.scram_begins(&format!("n,,{bare}")).await?;
    let Answer::ScramGoesOn(first) = server.answer().await? else { return Err(odd()) };
    let proof = prove(password.expose(), &nonce, &bare, &first)?;
    server.scram_goes_on(&proof.last).await?;
    let Answer::ScramEnds(end) = server.answer().await? else { return Err(odd()) };
    let given = end.strip_prefix("v=").and_then(|text| STANDARD.decode(text.trim()).ok());
    let is_known = given.is_some_and(|given| {
        constant_time::verify_slices_are_equal(&given, proof.server.as_ref()).is_ok()
    });
    if is_known {
        return Ok(());
    }
    Err(PostgresError::Auth("the server does not know the password: it is not the one".to_owned()))
}

fn odd() -> PostgresError {
    PostgresError::Protocol("an unexpected message during the login".to_owned())
}

struct Proof {
    last: String,
    server: hmac::Tag,
}

fn prove(password: &str, nonce: &str, bare: &str, first: &str) -> Result<Proof, PostgresError> {
    let field = |name: &str| first.split(',').find_map(|part| part.strip_prefix(name));
    let (both, salt) = (field("r=").ok_or_else(odd)?, field("s=").ok_or_else(odd)?);
    if !both.starts_with(nonce) || both.len() == nonce.len() {
        return Err(odd());
    }
    let rounds: u32 = field("i=").and_then(|text| text.parse().ok()).ok_or_else(odd)?;
    if !(ROUNDS_MIN..=ROUNDS_MAX).contains(&rounds) {
        let why = format!("the server wants {rounds} rounds, which is too few or too many");
        return Err(PostgresError::Auth(why));
    }
    let rounds = NonZeroU32::new(rounds).ok_or_else(odd)?;
    let salt = STANDARD.decode(salt).map_err(|_| odd())?;
    let mut salted = [0_u8; HASH];
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, rounds, &salt, password.as_bytes(), &mut salted);
    let sign = |key: &[u8], text: &[u8]| hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text);
    let client = sign(&salted, b"Client Key");
    let stored = digest::digest(&digest::SHA256, client.as_ref());
    let unproved = format!("c=biws,r={both}");
    let said = format!("{bare},{first},{unproved}");
    let signature = sign(stored.as_ref(), said.as_bytes());
    let pairs = client.as_ref().iter().zip(signature.as_ref());
    let proof: Vec<u8> = pairs.map(|(key, sign)| key ^ sign).collect();
    let server = sign(sign(&salted, b"Server Key").as_ref(), said.as_bytes());
    Ok(Proof { last: format!("{unproved},p={}", STANDARD.encode(proof)), server })
}

#[cfg(test)]
mod tests {
    use super::*;

    // The exchange of RFC 7677, section 3.
    #[test]
    fn the_published_exchange_is_proved() {
        let nonce = "rOprNGfwEbeRWgbNEkqO";
        let first = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                     s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        let proof = prove("pencil", nonce, "n=user,r=rOprNGfwEbeRWgbNEkqO", first).unwrap();
        assert!(proof.last.ends_with("p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="));
        let server = STANDARD.encode(proof.server.as_ref());
        assert_eq!(server, "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
        assert!(prove("pencil", "other", "n=,r=other", first).is_err());
        assert!(prove("pencil", nonce, "", &first.replace("4096", "1")).is_err());
    }
}
