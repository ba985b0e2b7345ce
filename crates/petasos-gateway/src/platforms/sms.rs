//! `sms`: text messages by Twilio. It calls a listener of ours and signs what it says with the public
//! address that it called; what goes out is its REST interface.
//!
//! Every segment costs, so that an answer has a most of them. STOP, START and HELP are the carrier's
//! own words and are not answered.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use parking_lot::Mutex;
use petasos_contract::{BoxFuture, Secret};
use petasos_net::{Method, Scheme};
use serde_json::Value;

use crate::api::{Api, ApiAnswer, link_error, of_status, segment, send_error};
use crate::crypt::{hmac_sha1, same};
use crate::inbound::{Hit, ListenAt, Said, listen};
use crate::link::Link;
use crate::options::text_of;
use crate::platform::{
    Arrival, LinkError, Opened, Opening, Outgoing, Platform, PlatformDef, Rates, Repeats,
    SendError, Sender, TargetId,
};
use crate::render::{Dialect, Form, Unit, add};

pub(super) static PLATFORM: PlatformDef = PlatformDef {
    name: "sms",
    about: "Text messages by Twilio",
    toolset: "hermes-sms",
    variables: &[
        "TWILIO_ACCOUNT_SID",
        "TWILIO_AUTH_TOKEN",
        "TWILIO_PHONE_NUMBER",
        "SMS_WEBHOOK_URL",
    ],
    form: Form { dialect: Dialect::Plain, limit: 1600, unit: Unit::Chars },
    rates: Rates { account: Duration::from_secs(1), chat: Duration::from_secs(1), burst: 1 },
    repeats: Repeats::Seen,
    hint: "The conversation is over text messages that cost money: answer in one or two sentences, without markup.",
    setup: &[
        "buy a number at twilio.com, and set TWILIO_ACCOUNT_SID, TWILIO_AUTH_TOKEN and TWILIO_PHONE_NUMBER",
        "set SMS_WEBHOOK_URL to the exact public address of the listener (port 8080, /webhooks/twilio): signatures cover it",
        "put numbers into SMS_ALLOWED_USERS, as in +4912345678",
    ],
    tested_with: "a double built from the published interface description, with Twilio's own signature vector",
    direct: true,
    target: |text| canonical(text).map(|number| TargetId::chat(&number)),
    canonical,
    open,
    ..PlatformDef::USUAL
};

/// A number as in E.164.
fn canonical(id: &str) -> Option<String> {
    let digits: String = id.trim().chars().filter(|c| !" -()".contains(*c)).collect();
    let number = digits.strip_prefix('+')?;
    let fits = (7..=15).contains(&number.len()) && number.chars().all(|c| c.is_ascii_digit());
    fits.then_some(digits)
}

const CALL: Duration = Duration::from_secs(20);
/// The carrier's own words.
const CARRIER: [&str; 9] =
    ["STOP", "STOPALL", "UNSUBSCRIBE", "CANCEL", "END", "QUIT", "START", "HELP", "INFO"];
/// So many segments an answer has at most, unless the settings say otherwise.
const SEGMENTS_MAX: u64 = 10;

struct Sms {
    account: String,
    api: Api,
    token: Secret,
    public: String,
    at: ListenAt,
    signed: bool,
    segments_max: usize,
    sid: String,
    /// The answer whose segments are counted, by the beginning of its token.
    spent: Mutex<(String, usize)>,
}

fn open(opening: &Opening<'_>) -> Opened {
    let settings = opening.settings;
    let word = |name: &str| text_of(settings, name);
    let (Some(sid), Some(token), Some(number)) =
        (word("TWILIO_ACCOUNT_SID"), word("TWILIO_AUTH_TOKEN"), word("TWILIO_PHONE_NUMBER"))
    else {
        return Ok(Vec::new());
    };
    let account = canonical(&number).ok_or_else(|| {
        format!("TWILIO_PHONE_NUMBER `{number}` is no number: write it as +4912345")
    })?;
    let public = word("SMS_WEBHOOK_URL")
        .ok_or("SMS_WEBHOOK_URL is missing: signatures cover the public address")?;
    let at = ListenAt::of(opening, "SMS_WEBHOOK", (8080, "/webhooks/twilio"))?;
    let base = settings.text("platforms.sms.base_url").unwrap_or("https://api.twilio.com");
    let base = format!("{base}/2010-04-01/Accounts/{}", segment(&sid));
    let basic = base64::engine::general_purpose::STANDARD.encode(format!("{sid}:{token}"));
    let key = (Secret::new(format!("Basic {basic}")), Scheme::Header("authorization"));
    let api = Api::new(opening.net, &base, Some(key), "twilio")?;
    let most =
        settings.get("platforms.sms.max_segments").or_else(|| settings.get("sms.max_segments"));
    let most = most.and_then(Value::as_u64).unwrap_or(SEGMENTS_MAX);
    let signed = word("SMS_INSECURE_NO_SIGNATURE").as_deref() != Some("true");
    if !signed {
        tracing::warn!("SMS_INSECURE_NO_SIGNATURE: anybody can write as anybody");
    }
    Ok(vec![Arc::new(Sms {
        account,
        api,
        token: Secret::new(token),
        public,
        at,
        signed,
        segments_max: usize::try_from(most).unwrap_or(10).max(1),
        sid,
        spent: Mutex::default(),
    })])
}

/// What Twilio signs: the address, then every parameter and its value, in the order of their names.
fn signature(token: &str, url: &str, form: &[(String, String)]) -> String {
    let mut form = form.to_vec();
    form.sort();
    let text = form.iter().fold(url.to_owned(), |mut text, (key, value)| {
        text.push_str(key);
        text.push_str(value);
        text
    });
    hmac_sha1(token.as_bytes(), text.as_bytes())
}

/// How many segments a text takes: 160 or 153 characters of the carriers' alphabet, else 70 or 67.
fn segments(text: &str) -> usize {
    let usual = |c: char| {
        c == '\n'
            || c == '\r'
            || (' '..='~').contains(&c) && c != '`'
            || "£$¥èéùìòÇØøÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉÄÖÑÜ§¿äöñüà€".contains(c)
    };
    let (units, one, each) = if text.chars().all(usual) {
        let double = text.chars().filter(|c| "^{}[]~\\|€".contains(*c)).count();
        (text.chars().count() + double, 160, 153)
    } else {
        (text.encode_utf16().count(), 70, 67)
    };
    if units <= one { 1 } else { units.div_ceil(each) }
}

impl Sms {
    async fn heard(&self, link: &Link, hit: Hit) -> Said {
        let form = hit.form();
        let proof = signature(self.token.expose(), &self.public, &form);
        if self.signed && !same(hit.header("x-twilio-signature"), &proof) {
            return Said::unsigned();
        }
        let value = |name: &str| {
            let found = form.iter().find(|(key, _)| key == name);
            found.map(|(_, value)| value.as_str()).unwrap_or_default()
        };
        let (from, id, text) = (value("From"), value("MessageSid"), value("Body"));
        let carrier = CARRIER.contains(&text.trim().to_uppercase().as_str());
        // An empty answer says that nothing is to be sent by Twilio itself.
        let nothing = Said {
            status: 200,
            kind: "text/xml",
            body: "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Response/>".to_owned(),
        };
        if from.is_empty() || id.is_empty() || carrier || from == self.account {
            return nothing;
        }
        let mut arrival = Arrival {
            sender: Sender { id: Some(from.to_owned()), ..Sender::default() },
            addressed: true,
            ..Arrival::text(from, from, id, text)
        };
        if value("NumMedia") != "0" && !value("NumMedia").is_empty() {
            add(&mut arrival.text, format_args!("\n[{} pictures, not read]", value("NumMedia")));
        }
        match link.take(arrival).await {
            Ok(()) => nothing,
            Err(_) => Said::again(),
        }
    }

    /// Whether one more part of an answer may be paid for.
    fn affords(&self, token: &str, text: &str) -> bool {
        let answer = token.rsplit_once('-').map_or(token, |(answer, _)| answer);
        let mut spent = self.spent.lock();
        if spent.0 != answer {
            *spent = (answer.to_owned(), 0);
        }
        let wanted = spent.1 + segments(text);
        let affords = wanted <= self.segments_max;
        if affords {
            spent.1 = wanted;
        }
        affords
    }

    async fn post(&self, to: &str, text: &str) -> Result<String, SendError> {
        let encoded: Vec<String> = [("To", to), ("From", self.account.as_str()), ("Body", text)]
            .iter()
            .map(|(key, value)| format!("{key}={}", segment(value)))
            .collect();
        let request = self.api.request(Method::POST, "Messages.json");
        let request =
            request.and_then(|it| it.header("content-type", "application/x-www-form-urlencoded"));
        let request = request.map_err(|error| send_error(&error))?;
        let request = request.first_byte(CALL).body(encoded.join("&"));
        let answer = self.api.answer(request, CALL).await.map_err(|error| send_error(&error))?;
        let sid = answer.body.get("sid").and_then(Value::as_str);
        sid.filter(|_| answer.is_ok()).map(str::to_owned).ok_or_else(|| refused(&answer))
    }
}

fn refused(answer: &ApiAnswer) -> SendError {
    let said = answer.body.get("message").and_then(Value::as_str).unwrap_or("no description");
    match answer.body.get("code").and_then(Value::as_i64) {
        Some(20_429 | 14_107) => {
            SendError::RateLimited { after: answer.retry_after.unwrap_or(Duration::from_secs(2)) }
        }
        Some(20_003) => SendError::Auth(said.to_owned()),
        Some(21_617) => SendError::TooLong(said.to_owned()),
        _ => of_status(answer, said),
    }
}

impl Platform for Sms {
    fn account(&self) -> &str {
        &self.account
    }

    fn run<'a>(&'a self, link: &'a Link) -> BoxFuture<'a, Result<(), LinkError>> {
        Box::pin(async move {
            self.probe().await?;
            listen(&self.at, link, |hit| self.heard(link, hit)).await
        })
    }

    fn send<'a>(&'a self, message: Outgoing<'a>) -> BoxFuture<'a, Result<String, SendError>> {
        Box::pin(async move {
            if message.media.is_some() {
                return Err(SendError::Unreachable("files are not sent here".to_owned()));
            }
            if !self.affords(message.token, message.text) {
                tracing::warn!(most = self.segments_max, "the rest of an answer is not paid for");
                return Ok(String::new());
            }
            self.post(&message.lane.chat, message.text).await
        })
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, LinkError>> {
        Box::pin(async move {
            let path = format!("../{}.json", segment(&self.sid));
            let answer = self.api.call(Method::GET, &path, None, CALL).await;
            let answer = answer.map_err(|error| link_error(&error))?;
            match answer.status {
                200 => Ok(self.account.clone()),
                401 | 403 => Err(LinkError::Fatal("Twilio refuses the token".to_owned())),
                status => Err(LinkError::Lost(format!("Twilio answered {status}"))),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s96_twilios_own_vector_is_signed_alike() {
        let form = [
            ("CallSid", "CA1234567890ABCDE"),
            ("Caller", "+14158675309"),
            ("Digits", "1234"),
            ("From", "+14158675309"),
            ("To", "+18005551212"),
        ];
        let form = form.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let url = "https://mycompany.com/myapp.php?foo=1&bar=2";
        assert_eq!(signature("12345", url, &form), "RSOYDt4T1cUTdK1PDd93/VVr8B8=");
    }

    #[test]
    fn segments_are_counted_as_carriers_do() {
        for (text, count) in [
            ("x".repeat(160), 1),
            ("x".repeat(161), 2),
            ("x".repeat(306), 2),
            ("x".repeat(307), 3),
            ("я".repeat(70), 1),
            ("я".repeat(71), 2),
            ("😀".repeat(36), 2),
            ("[".repeat(81), 2),
        ] {
            assert_eq!(segments(&text), count, "{}", text.chars().count());
        }
    }
}
