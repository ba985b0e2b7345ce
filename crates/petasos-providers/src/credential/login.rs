//! One login as a value: the tokens, when they end, and what went wrong last.
//!
//! Read from the shapes that the auth store and other programs use; fields that we do not know
//! stay where they are when a login is written back.

use petasos_contract::Secret;
use serde_json::{Map, Value, json};

use crate::credential::jwt;
use crate::credential::usable::usable;

/// What renews a login. It goes to the issuer's token endpoint and nowhere else: unlike an access
/// token it is no [`Secret`], so no credential of a request can hold it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefreshToken(Secret);

impl RefreshToken {
    /// Takes ownership of the text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Secret::new(text))
    }

    /// The token, for its issuer and for the store that keeps it.
    pub(crate) fn expose(&self) -> &str {
        self.0.expose()
    }
}

impl From<Secret> for RefreshToken {
    fn from(secret: Secret) -> Self {
        Self(secret)
    }
}

/// The tokens of one login.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Login {
    /// What requests carry.
    pub access: Option<Secret>,
    /// What renews it.
    pub refresh: Option<RefreshToken>,
    /// When the access token ends; `None` is unknown.
    pub expires_at_ms: Option<u64>,
    /// When it was last renewed, as written.
    pub last_refresh: Option<String>,
    /// Why it must be done again by a person.
    pub dead: Option<String>,
    /// Where the provider told us to go.
    pub base_url: Option<String>,
    /// Counts renewals, so that two processes can tell which one is newer.
    pub generation: u64,
}

impl Login {
    /// Reads a login from an object, or from its `tokens`.
    pub fn from_value(value: &Value) -> Option<Self> {
        let outer = value.as_object()?;
        let tokens = outer.get("tokens").and_then(Value::as_object).unwrap_or(outer);
        let secret = |name: &str| {
            let text = tokens.get(name).or_else(|| outer.get(name))?.as_str()?;
            usable(text).ok().map(|good| good.secret)
        };
        let text = |name: &str| outer.get(name).and_then(Value::as_str).map(str::to_owned);
        let access = secret("access_token").or_else(|| secret("agent_key"));
        let stated = ["expires_at_ms", "expires_at", "expiry_date", "expiresAt"]
            .iter()
            .find_map(|name| tokens.get(*name).or_else(|| outer.get(*name)).and_then(moment));
        let claimed = access.as_ref().and_then(|token| jwt::expires_at_ms(token.expose()));
        let login = Self {
            refresh: secret("refresh_token").map(RefreshToken::from),
            expires_at_ms: stated.or(claimed),
            last_refresh: text("last_refresh"),
            dead: text("last_auth_error"),
            base_url: text("inference_base_url").or_else(|| text("base_url")),
            generation: outer.get("generation").and_then(Value::as_u64).unwrap_or(0),
            access,
        };
        (login.access.is_some() || login.refresh.is_some() || login.dead.is_some()).then_some(login)
    }

    /// Writes the login into the object it came from; other fields stay.
    pub fn write_into(&self, target: &mut Map<String, Value>) {
        let nested = target.contains_key("tokens");
        let tokens =
            if nested { target.get_mut("tokens").and_then(Value::as_object_mut) } else { None };
        let access = self.access.as_ref().map(|token| json!(token.expose()));
        let refresh = self.refresh.as_ref().map(|token| json!(token.expose()));
        let fields = [("access_token", access), ("refresh_token", refresh)];
        match tokens {
            Some(tokens) => put(tokens, fields),
            None => put(target, fields),
        }
        let date = self.expires_at_ms.map(|at| json!(jwt::format_date(at)));
        put(
            target,
            [("expires_at", date), ("expires_at_ms", self.expires_at_ms.map(|at| json!(at)))],
        );
        put(
            target,
            [
                ("last_refresh", self.last_refresh.as_ref().map(|text| json!(text))),
                ("inference_base_url", self.base_url.as_ref().map(|text| json!(text))),
            ],
        );
        target.insert("generation".to_owned(), json!(self.generation));
        match &self.dead {
            Some(reason) => target.insert("last_auth_error".to_owned(), json!(reason)),
            None => target.remove("last_auth_error"),
        };
    }

    /// The span that its token was issued for, when both ends are known.
    pub fn life_ms(&self) -> Option<u64> {
        let since = jwt::parse_date(self.last_refresh.as_deref()?)?;
        self.expires_at_ms?.checked_sub(since)
    }

    /// Whether it should be renewed before use.
    pub fn is_due(&self, now_ms: u64, skew_ms: u64) -> bool {
        self.access.is_none() || self.expires_at_ms.is_some_and(|at| now_ms + skew_ms >= at)
    }
}

fn put<const N: usize>(target: &mut Map<String, Value>, fields: [(&str, Option<Value>); N]) {
    for (name, value) in fields {
        if let Some(value) = value {
            target.insert(name.to_owned(), value);
        }
    }
}

/// A time as the stores write it: text, seconds or milliseconds, told apart by size.
pub fn moment(value: &Value) -> Option<u64> {
    if let Some(text) = value.as_str() {
        return jwt::parse_date(text).or_else(|| text.parse().ok().map(scale));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a time, checked to be positive"
    )]
    let float = value.as_f64().filter(|number| *number > 0.0).map(|number| number as u64);
    value.as_u64().or(float).map(scale)
}

/// Seconds since 1970 stay below this number until the year 5138.
fn scale(number: u64) -> u64 {
    if number < 100_000_000_000 { number.saturating_mul(1000) } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_keeps_its_shape_and_its_strangers() {
        let stored = json!({"tokens": {"access_token": "at-0001", "refresh_token": "rt-0001", "id": "x"},
            "auth_mode": "chatgpt", "expires_at": "2026-01-01T00:00:00Z"});
        let mut login = Login::from_value(&stored).unwrap();
        assert_eq!(login.expires_at_ms, Some(1_767_225_600_000));
        login.access = Some(Secret::new("at-0002"));
        login.generation = 7;
        let mut target = stored.as_object().unwrap().clone();
        login.write_into(&mut target);
        assert_eq!(target["tokens"]["access_token"], "at-0002");
        assert_eq!(
            (&target["tokens"]["id"], &target["auth_mode"]),
            (&json!("x"), &json!("chatgpt"))
        );
        assert_eq!(Login::from_value(&Value::Object(target)), Some(login));
    }
}
