//! Signatures and sealed bodies as platforms make them. Everything is compared in constant time.

use aws_lc_rs::cipher::{
    AES_128, AES_256, DecryptingKey, DecryptionContext, PaddedBlockDecryptingKey,
    PaddedBlockEncryptingKey, UnboundCipherKey,
};
use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};
use aws_lc_rs::hmac::{self, HMAC_SHA1_FOR_LEGACY_USE_ONLY, HMAC_SHA256, Key};
use aws_lc_rs::iv::FixedLength;
use base64::Engine as _;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use subtle::ConstantTimeEq as _;

use crate::render::add;

/// Bytes as small hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        add(&mut text, format_args!("{byte:02x}"));
        text
    })
}

/// Whether two texts are the same, in a time that tells nothing.
pub(crate) fn same(left: &str, right: &str) -> bool {
    left.as_bytes().ct_eq(right.as_bytes()).into()
}

/// HMAC with SHA-256, in hexadecimal.
pub(crate) fn hmac_sha256(key: &[u8], text: &[u8]) -> String {
    hex(hmac::sign(&Key::new(HMAC_SHA256, key), text).as_ref())
}

/// HMAC with SHA-1, in base64, as Twilio signs.
pub(crate) fn hmac_sha1(key: &[u8], text: &[u8]) -> String {
    STANDARD.encode(hmac::sign(&Key::new(HMAC_SHA1_FOR_LEGACY_USE_ONLY, key), text))
}

/// SHA-1 in hexadecimal.
pub(crate) fn sha1(text: &[u8]) -> String {
    hex(digest(&SHA1_FOR_LEGACY_USE_ONLY, text).as_ref())
}

/// SHA-256.
pub(crate) fn sha256(text: &[u8]) -> Vec<u8> {
    digest(&SHA256, text).as_ref().to_vec()
}

/// What AES-256 in CBC mode sealed, without its padding of at most `block` bytes; nothing when it
/// was not sealed with this key.
pub(crate) fn opened(key: &[u8], iv: [u8; 16], sealed: &[u8], block: u8) -> Option<Vec<u8>> {
    let key = UnboundCipherKey::new(&AES_256, key).ok()?;
    let key = DecryptingKey::cbc(key).ok()?;
    let mut bytes = sealed.to_vec();
    let context = DecryptionContext::Iv128(FixedLength::from(iv));
    let plain = key.decrypt(&mut bytes, context).ok()?;
    let pad = *plain.last().filter(|pad| (1..=block).contains(*pad))?;
    let end = plain.len().checked_sub(usize::from(pad))?;
    plain.get(..end).map(<[u8]>::to_vec)
}

/// Seals with AES-128 block by block, as WeChat keeps files.
pub(crate) fn block_sealed(key: &[u8; 16], plain: &[u8]) -> Option<Vec<u8>> {
    let key = PaddedBlockEncryptingKey::ecb_pkcs7(UnboundCipherKey::new(&AES_128, key).ok()?);
    let mut bytes = plain.to_vec();
    key.ok()?.encrypt(&mut bytes).ok()?;
    Some(bytes)
}

/// What [`block_sealed`] sealed.
pub(crate) fn block_opened(key: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
    let key = PaddedBlockDecryptingKey::ecb_pkcs7(UnboundCipherKey::new(&AES_128, key).ok()?);
    let mut bytes = sealed.to_vec();
    let plain = key.ok()?.decrypt(&mut bytes, DecryptionContext::None).ok()?;
    Some(plain.to_vec())
}

/// MD5 in hexadecimal: some vendors name files by it.
#[cfg(feature = "platforms")]
pub(crate) fn md5(bytes: &[u8]) -> String {
    use md5::Digest as _;
    hex(md5::Md5::digest(bytes).as_ref())
}

/// Base64 whose last bits need not be zero: the keys of WeCom are cut that way.
pub(crate) fn lenient(text: &str) -> Option<Vec<u8>> {
    let config = GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true);
    GeneralPurpose::new(&ALPHABET, config).decode(text).ok()
}

/// Base64.
pub(crate) fn unbased(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text.trim()).ok()
}
