//! What the mail tools share.

use petasos_contract::CallContext;
use petasos_contract::check::{Availability, CheckDef, CheckScope};
use petasos_contract::effect::{Effect, Effects};
use petasos_vendors::mail::{self, Account, Draft};
use serde::Deserialize;
use serde_json::{Value, json};

/// There is an account.
pub(crate) static ACCOUNT: CheckDef = CheckDef {
    id: "mail",
    scope: CheckScope::Profile,
    probe: |cx| {
        let ready = mail::is_set_up(&cx.settings);
        Box::pin(async move { Availability::when(ready, mail::NEEDS) })
    },
};

/// A letter as a model writes it.
#[derive(Deserialize)]
pub(crate) struct Written {
    to: Many,
    cc: Option<Many>,
    subject: Option<String>,
    body: String,
    reply_to_id: Option<String>,
}

/// One address or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum Many {
    One(String),
    Several(Vec<String>),
}

impl Many {
    fn all(self) -> Vec<String> {
        match self {
            Self::One(text) => text.split(',').map(|one| one.trim().to_owned()).collect(),
            Self::Several(all) => all,
        }
    }
}

impl Written {
    pub(crate) fn draft(self) -> Draft {
        let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        Draft {
            to: self.to.all(),
            cc: self.cc.map(Many::all).unwrap_or_default(),
            subject: given(self.subject),
            body: self.body,
            answers: given(self.reply_to_id),
        }
    }
}

/// The parameters of a letter.
pub(crate) fn properties() -> Value {
    let people = |what: &str| json!({ "type": "array", "items": { "type": "string" }, "maxItems": 20, "description": what });
    json!({
        "to": people("Mail addresses"),
        "cc": people("Mail addresses of those who read it, too"),
        "subject": { "type": "string", "description": "What it is about; an answer takes the other's" },
        "body": { "type": "string", "description": "Its words, as plain text" },
        "reply_to_id": { "type": "string", "description": "The id of the letter that it answers" }
    })
}

/// Names a letter by its call: the same call again is the same letter.
pub(crate) fn token(cx: &CallContext) -> String {
    format!("{}/{}/{}", cx.session, cx.turn, cx.call)
}

/// Reading reaches the server that keeps letters.
pub(crate) fn reading(cx: &CallContext) -> Effects {
    hosts(cx, 1)
}

/// Sending reaches both.
pub(crate) fn sending(cx: &CallContext) -> Effects {
    hosts(cx, 2)
}

fn hosts(cx: &CallContext, count: usize) -> Effects {
    let Ok(account) = Account::open(&cx.settings) else { return Effects::none() };
    account.hosts().into_iter().take(count).map(|host| Effect::Reach(host.to_owned())).collect()
}
