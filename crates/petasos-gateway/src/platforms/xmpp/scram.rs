//! The login by SCRAM (RFC 5802, RFC 7677).

use std::num::NonZeroU32;

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256};
use aws_lc_rs::hmac::{HMAC_SHA1_FOR_LEGACY_USE_ONLY, HMAC_SHA256};
use aws_lc_rs::pbkdf2::{PBKDF2_HMAC_SHA1, PBKDF2_HMAC_SHA256};
use aws_lc_rs::{digest, hmac, pbkdf2};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use petasos_contract::Secret;

/// A login by SCRAM, as far as it has come. The password never leaves, and the server must know it
/// too.
pub(super) struct Scram {
    kind: Kind,
    first: String,
    nonce: String,
    proof_of_server: Vec<u8>,
}

#[derive(Clone, Copy)]
enum Kind {
    Sha256,
    Sha1,
}

impl Kind {
    fn hmac(self, key: &[u8], text: &[u8]) -> Vec<u8> {
        let algorithm = match self {
            Self::Sha256 => HMAC_SHA256,
            Self::Sha1 => HMAC_SHA1_FOR_LEGACY_USE_ONLY,
        };
        hmac::sign(&hmac::Key::new(algorithm, key), text).as_ref().to_vec()
    }

    fn digest(self, text: &[u8]) -> Vec<u8> {
        let algorithm = match self {
            Self::Sha256 => &SHA256,
            Self::Sha1 => &SHA1_FOR_LEGACY_USE_ONLY,
        };
        digest::digest(algorithm, text).as_ref().to_vec()
    }

    fn stretched(self, password: &[u8], salt: &[u8], rounds: NonZeroU32) -> Vec<u8> {
        let (algorithm, length) = match self {
            Self::Sha256 => (PBKDF2_HMAC_SHA256, 32),
            Self::Sha1 => (PBKDF2_HMAC_SHA1, 20),
        };
        let mut out = vec![0; length];
        pbkdf2::derive(algorithm, rounds, salt, password, &mut out);
        out
    }
}

impl Scram {
    /// The strongest of what the server offers; its name and the first message.
    pub(super) fn begin(
        offered: &[String],
        user: &str,
        nonce: &str,
    ) -> Option<(Self, &'static str, String)> {
        let has = |name: &str| offered.iter().any(|it| it == name);
        let (kind, name) = match () {
            () if has("SCRAM-SHA-256") => (Kind::Sha256, "SCRAM-SHA-256"),
            () if has("SCRAM-SHA-1") => (Kind::Sha1, "SCRAM-SHA-1"),
            () => return None,
        };
        let user = user.replace('=', "=3D").replace(',', "=2C");
        let first = format!("n={user},r={nonce}");
        let told = STANDARD.encode(format!("n,,{first}"));
        let nonce = nonce.to_owned();
        Some((Self { kind, first, nonce, proof_of_server: Vec::new() }, name, told))
    }

    /// The answer to the server's challenge.
    pub(super) fn answer(&mut self, challenge: &str, password: &Secret) -> Option<String> {
        let challenge = String::from_utf8(STANDARD.decode(challenge.trim()).ok()?).ok()?;
        let part = |key: &str| challenge.split(',').find_map(|part| part.strip_prefix(key));
        let (nonce, salt) = (part("r=")?, STANDARD.decode(part("s=")?).ok()?);
        let rounds: u32 = part("i=")?.parse().ok()?;
        // A nonce that does not go on from ours is a replay; too few rounds give the password away.
        if !nonce.starts_with(&self.nonce)
            || nonce == self.nonce
            || !(4096..=1_000_000).contains(&rounds)
        {
            return None;
        }
        let salted =
            self.kind.stretched(password.expose().as_bytes(), &salt, NonZeroU32::new(rounds)?);
        let client = self.kind.hmac(&salted, b"Client Key");
        let last = format!("c=biws,r={nonce}");
        let all = format!("{},{challenge},{last}", self.first);
        let signature = self.kind.hmac(&self.kind.digest(&client), all.as_bytes());
        let proof: Vec<u8> =
            client.iter().zip(&signature).map(|(one, other)| one ^ other).collect();
        let server = self.kind.hmac(&salted, b"Server Key");
        self.proof_of_server = self.kind.hmac(&server, all.as_bytes());
        Some(STANDARD.encode(format!("{last},p={}", STANDARD.encode(proof))))
    }

    /// Whether the server has proved that it knows the password, too.
    pub(super) fn is_proved(&self, said: &str) -> bool {
        let said = STANDARD.decode(said.trim()).ok().and_then(|it| String::from_utf8(it).ok());
        let proof = said.as_deref().and_then(|it| it.strip_prefix("v="));
        let proof = proof.and_then(|it| STANDARD.decode(it).ok());
        !self.proof_of_server.is_empty()
            && proof.is_some_and(|proof| {
                subtle::ConstantTimeEq::ct_eq(&*proof, &*self.proof_of_server).into()
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_7677_is_answered() {
        let offered = ["PLAIN".to_owned(), "SCRAM-SHA-256".to_owned()];
        let (mut scram, name, first) =
            Scram::begin(&offered, "user", "rOprNGfwEbeRWgbNEkqO").unwrap();
        assert_eq!(name, "SCRAM-SHA-256");
        assert_eq!(STANDARD.decode(first).unwrap(), b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        let challenge = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        let answer = scram.answer(&STANDARD.encode(challenge), &Secret::new("pencil")).unwrap();
        let answer = String::from_utf8(STANDARD.decode(answer).unwrap()).unwrap();
        assert!(answer.ends_with("p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="), "{answer}");
        let proof = |text: &str| scram.is_proved(&STANDARD.encode(text));
        assert!(proof("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="));
        assert!(!proof("v=AAAA") && !proof(""));
        let (mut other, ..) = Scram::begin(&offered, "user", "abc").unwrap();
        assert!(other.answer(&STANDARD.encode(challenge), &Secret::new("pencil")).is_none());
    }
}
