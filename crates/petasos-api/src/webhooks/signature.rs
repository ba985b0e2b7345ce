//! Whether a delivery was signed by somebody who knows the secret, in each of the usual schemes.
//!
//! The raw body is checked before anything reads it, and in constant time. A scheme that is there
//! and wrong never falls to a weaker one.

use aws_lc_rs::hmac::{HMAC_SHA256, Key, verify};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use petasos_contract::Secret;
use subtle::ConstantTimeEq as _;

/// How far the clock of a sender may be off, in seconds.
const WINDOW: i64 = 300;

/// A delivery that was signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Signed {
    pub(crate) scheme: &'static str,
    /// The name that the sender gives this delivery.
    pub(crate) delivery: Option<String>,
    /// What was signed together with the body, where that name was not: whoever caught a delivery
    /// can give it another name, and not another time.
    pub(crate) at: Option<String>,
}

/// Why a delivery is refused; told in the log, never to the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unsigned(pub(crate) &'static str);

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn owned(headers: &HeaderMap, names: &[&str]) -> Option<String> {
    let found = names.iter().find_map(|name| text(headers, name));
    found.filter(|id| !id.is_empty()).map(str::to_owned)
}

/// Checks a delivery against the secrets of its route: several are good while one is replaced.
pub(crate) fn check(
    headers: &HeaderMap,
    body: &[u8],
    secrets: &[Secret],
    now: i64,
    v1: bool,
) -> Result<Signed, Unsigned> {
    let has = |name: &str| headers.contains_key(name);
    let all = Checked { headers, body, secrets, now };
    if has("x-hub-signature-256") {
        return all.github();
    }
    if has("webhook-signature") {
        return all.standard("webhook-id", "webhook-timestamp", "webhook-signature");
    }
    if has("svix-signature") {
        return all.standard("svix-id", "svix-timestamp", "svix-signature");
    }
    if has("stripe-signature") {
        return all.stripe();
    }
    if has("x-slack-signature") {
        return all.slack();
    }
    if has("x-webhook-signature-v2") {
        return all.generic_v2();
    }
    if has("x-gitlab-token") {
        return all.gitlab();
    }
    if has("x-webhook-signature") {
        return if v1 { all.generic_v1() } else { Err(Unsigned("V1 signatures are off")) };
    }
    Err(Unsigned("there is no signature"))
}

struct Checked<'a> {
    headers: &'a HeaderMap,
    body: &'a [u8],
    secrets: &'a [Secret],
    now: i64,
}

impl Checked<'_> {
    fn header(&self, name: &str) -> Result<&str, Unsigned> {
        text(self.headers, name).ok_or(Unsigned("a header is missing or no text"))
    }

    fn delivery(&self) -> Option<String> {
        let names = ["x-webhook-id", "x-request-id", "idempotency-key"];
        owned(self.headers, &names)
    }

    fn fresh(&self, timestamp: &str) -> Result<(), Unsigned> {
        let at: i64 = timestamp.parse().map_err(|_| Unsigned("the timestamp is no number"))?;
        let off = self.now.saturating_sub(at).saturating_abs();
        if off > WINDOW { Err(Unsigned("the timestamp is too far off")) } else { Ok(()) }
    }

    /// Whether one of the secrets gives one of these signatures.
    fn signed(&self, message: &[u8], signatures: &[Vec<u8>], base64: bool) -> Result<(), Unsigned> {
        let mut good = false;
        for secret in self.secrets {
            let secret = key_bytes(secret.expose(), base64);
            let key = Key::new(HMAC_SHA256, &secret);
            for signature in signatures {
                good |= verify(&key, message, signature).is_ok();
            }
        }
        if good { Ok(()) } else { Err(Unsigned("the signature is wrong")) }
    }

    fn github(&self) -> Result<Signed, Unsigned> {
        let shown = self.header("x-hub-signature-256")?;
        let shown = shown.strip_prefix("sha256=").ok_or(Unsigned("no sha256= signature"))?;
        self.signed(self.body, &[hex(shown)?], false)?;
        let delivery = owned(self.headers, &["x-github-delivery"]);
        Ok(Signed { scheme: "github", delivery, at: None })
    }

    fn gitlab(&self) -> Result<Signed, Unsigned> {
        let shown = self.header("x-gitlab-token")?.as_bytes();
        let mut good = false;
        for secret in self.secrets {
            good |= bool::from(secret.expose().as_bytes().ct_eq(shown));
        }
        if !good {
            return Err(Unsigned("the token is wrong"));
        }
        let names = ["x-gitlab-event-uuid", "idempotency-key"];
        Ok(Signed { scheme: "gitlab", delivery: owned(self.headers, &names), at: None })
    }

    fn standard(&self, id: &str, timestamp: &str, shown: &str) -> Result<Signed, Unsigned> {
        let (id, at) = (self.header(id)?, self.header(timestamp)?);
        self.fresh(at)?;
        let signatures = self.header(shown)?.split(' ').filter_map(|one| one.strip_prefix("v1,"));
        let signatures: Vec<Vec<u8>> =
            signatures.filter_map(|one| STANDARD.decode(one).ok()).collect();
        self.signed(&joined(&[id, at], b".", self.body), &signatures, true)?;
        Ok(Signed { scheme: "standard", delivery: Some(id.to_owned()), at: None })
    }

    fn stripe(&self) -> Result<Signed, Unsigned> {
        let shown = self.header("stripe-signature")?;
        let field = |name: &str| {
            let pairs = shown.split(',').filter_map(|pair| pair.trim().split_once('='));
            let named: Vec<&str> =
                pairs.filter(|(key, _)| *key == name).map(|(_, value)| value).collect();
            named
        };
        let at = field("t").first().copied().ok_or(Unsigned("there is no timestamp"))?;
        self.fresh(at)?;
        let signatures: Vec<Vec<u8>> = field("v1").iter().filter_map(|it| hex(it).ok()).collect();
        self.signed(&joined(&[at], b".", self.body), &signatures, false)?;
        Ok(Signed { scheme: "stripe", delivery: None, at: None })
    }

    fn slack(&self) -> Result<Signed, Unsigned> {
        let at = self.header("x-slack-request-timestamp")?;
        self.fresh(at)?;
        let shown = self.header("x-slack-signature")?;
        let shown = shown.strip_prefix("v0=").ok_or(Unsigned("no v0= signature"))?;
        self.signed(&joined(&["v0", at], b":", self.body), &[hex(shown)?], false)?;
        Ok(Signed { scheme: "slack", delivery: self.delivery(), at: Some(at.to_owned()) })
    }

    fn generic_v2(&self) -> Result<Signed, Unsigned> {
        let at = self.header("x-webhook-timestamp")?;
        self.fresh(at)?;
        let shown = hex(self.header("x-webhook-signature-v2")?)?;
        self.signed(&joined(&[at], b".", self.body), &[shown], false)?;
        Ok(Signed { scheme: "v2", delivery: self.delivery(), at: Some(at.to_owned()) })
    }

    fn generic_v1(&self) -> Result<Signed, Unsigned> {
        let shown = self.header("x-webhook-signature")?;
        let shown = hex(shown.strip_prefix("sha256=").unwrap_or(shown))?;
        self.signed(self.body, &[shown], false)?;
        // Without a time in the signature only a name tells a replay from a delivery.
        let delivery = self.delivery().ok_or(Unsigned("a V1 delivery needs X-Webhook-Id"))?;
        Ok(Signed { scheme: "v1", delivery: Some(delivery), at: None })
    }
}

/// The bytes of a secret; Standard Webhooks write them as base64 behind `whsec_`.
pub(crate) fn key_bytes(secret: &str, base64: bool) -> Vec<u8> {
    let encoded = secret.strip_prefix("whsec_").filter(|_| base64);
    let decoded = encoded.and_then(|text| STANDARD.decode(text).ok());
    decoded.unwrap_or_else(|| secret.as_bytes().to_vec())
}

fn joined(parts: &[&str], sign: &[u8], body: &[u8]) -> Vec<u8> {
    let mut all = Vec::with_capacity(body.len() + 64);
    for part in parts {
        all.extend_from_slice(part.as_bytes());
        all.extend_from_slice(sign);
    }
    all.extend_from_slice(body);
    all
}

fn hex(text: &str) -> Result<Vec<u8>, Unsigned> {
    let odd = Unsigned("the signature is no hexadecimal text");
    if !text.is_ascii() || text.is_empty() || !text.len().is_multiple_of(2) {
        return Err(odd);
    }
    let pairs = text.as_bytes().chunks(2);
    let digit = |pair: &[u8]| {
        std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok())
    };
    pairs.map(digit).collect::<Option<_>>().ok_or(odd)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header and its value, a list of headers, and the secret, body and time that they fit.
    type Vector = (&'static str, Vec<(&'static str, String)>, &'static str, &'static str, i64);

    fn hmac(secret: &[u8], message: &str) -> Vec<u8> {
        aws_lc_rs::hmac::sign(&Key::new(HMAC_SHA256, secret), message.as_bytes()).as_ref().to_vec()
    }

    fn hexed(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
    }

    /// The vendors' published examples where there are any, else computed by their rules.
    fn vectors() -> Vec<Vector> {
        published().into_iter().chain(computed()).collect()
    }

    const SLACK: &str = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";

    fn published() -> Vec<Vector> {
        let github = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        let slack = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503";
        let standard = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let (id, at) = ("msg_p5jXN8AQM9LWM0D4loKWxJek".to_owned(), 1_614_265_330);
        let body = "{\"test\": 2432232314}";
        let several = format!("v1,AAAA {standard}");
        let webhook = vec![
            ("webhook-signature", several),
            ("webhook-id", id.clone()),
            ("webhook-timestamp", at.to_string()),
        ];
        let svix = vec![
            ("svix-signature", standard.to_owned()),
            ("svix-id", id),
            ("svix-timestamp", at.to_string()),
        ];
        let slack = vec![
            ("x-slack-signature", slack.to_owned()),
            ("x-slack-request-timestamp", "1531420618".to_owned()),
        ];
        let github = vec![("x-hub-signature-256", github.to_owned())];
        vec![
            ("github", github, "It's a Secret to Everybody", "Hello, World!", 1_700_000_000),
            ("slack", slack, "8f742231b10e8888abcd99yyyzzz85a5", SLACK, 1_531_420_618),
            ("standard", webhook, secret, body, at),
            ("standard", svix, secret, body, at),
        ]
    }

    fn computed() -> Vec<Vector> {
        let (plain, body, at) = ("plain-secret", "{}", 1_700_000_000_i64);
        let timed = hexed(&hmac(plain.as_bytes(), &format!("{at}.{body}")));
        let bare = hexed(&hmac(plain.as_bytes(), body));
        let stripe = vec![("stripe-signature", format!("t={at},v0=ff,v1={timed}"))];
        let second =
            vec![("x-webhook-signature-v2", timed), ("x-webhook-timestamp", at.to_string())];
        let first = vec![("x-webhook-signature", bare), ("x-webhook-id", "d1".to_owned())];
        let gitlab = vec![("x-gitlab-token", plain.to_owned())];
        vec![
            ("stripe", stripe, plain, body, at),
            ("v2", second, plain, body, at),
            ("v1", first, plain, body, at),
            ("gitlab", gitlab, plain, body, at),
        ]
    }

    fn headers(list: &[(&'static str, String)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in list {
            headers.insert(*name, http::HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        headers
    }

    #[test]
    fn s114_every_scheme_right_wrong_empty_odd_late_and_rotated() {
        for (scheme, list, secret, body, at) in vectors() {
            let secrets = [Secret::new(secret)];
            let signed = headers(&list);
            let check = |headers: &HeaderMap, body: &str, secrets: &[Secret], now: i64| {
                check(headers, body.as_bytes(), secrets, now, true)
            };
            assert_eq!(check(&signed, body, &secrets, at).map(|it| it.scheme), Ok(scheme));
            let rotated = [Secret::new("the next secret"), Secret::new(secret)];
            assert!(check(&signed, body, &rotated, at).is_ok(), "{scheme}: while it is replaced");
            let other = [Secret::new("another secret")];
            assert!(check(&signed, body, &other, at).is_err(), "{scheme}: wrong secret");
            assert!(check(&signed, body, &[], at).is_err(), "{scheme}: no secret");
            if scheme != "gitlab" {
                let changed = format!("{body} ");
                assert!(check(&signed, &changed, &secrets, at).is_err(), "{scheme}: other body");
            }
            if !matches!(scheme, "github" | "gitlab" | "v1") {
                for now in [at - 300, at + 300] {
                    assert!(check(&signed, body, &secrets, now).is_ok(), "{scheme}: {now}");
                }
                for now in [at - 301, at + 301] {
                    assert!(check(&signed, body, &secrets, now).is_err(), "{scheme}: {now}");
                }
            }
            for odd in ["", "sha256=", "v1,", "v0=", "t=,v1=", "zz", "\u{e9}\u{e9}"] {
                let mut list = list.clone();
                list[0].1 = odd.to_owned();
                assert!(check(&headers(&list), body, &secrets, at).is_err(), "{scheme}: {odd:?}");
            }
        }
    }

    #[test]
    fn a_bad_v2_never_falls_to_v1_and_v1_must_be_wished_for() {
        let vectors = vectors();
        let v1 = headers(&vectors[6].1);
        let secrets = [Secret::new("plain-secret")];
        assert!(check(&v1, b"{}", &secrets, 1_700_000_000, false).is_err());
        let mut both = v1.clone();
        both.insert("x-webhook-signature-v2", http::HeaderValue::from_static("00"));
        both.insert("x-webhook-timestamp", http::HeaderValue::from_static("1700000000"));
        assert!(check(&both, b"{}", &secrets, 1_700_000_000, true).is_err());
        let mut nameless = v1;
        nameless.remove("x-webhook-id");
        assert!(check(&nameless, b"{}", &secrets, 1_700_000_000, true).is_err());
    }
}
