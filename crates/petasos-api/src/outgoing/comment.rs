//! Comments under issues and pull requests of GitHub: one request with a token of its own, which
//! goes to GitHub's interface and nowhere else.

use std::time::Duration;

use petasos_contract::{Secret, Settings};
use petasos_net::{Credential, Follow, Method, Net, Origin, Reach, Request, Scheme, Scope, Url};
use petasos_store::{Attempt, OutboxRow};
use serde_json::{Value, json};

use super::{PATIENCE, again};
use crate::options::OptionsError;

/// Where they stand in the outbox.
pub(super) const PLATFORM: &str = "github_comment";
const INTERFACE: &str = "https://api.github.com";
const KEY: &str = "platforms.webhook.extra.github_api";
/// A comment is at most so long, in characters.
const LONGEST: usize = 65_000;
/// GitHub wants to be left alone for so long when it says nothing else.
const PAUSE: Duration = Duration::from_mins(1);

/// What comments are written with.
pub(super) struct Comments {
    interface: Url,
    token: Option<Secret>,
}

impl Comments {
    pub(super) fn of(settings: &Settings) -> Result<Self, OptionsError> {
        let wrong =
            |what: &str| OptionsError::Setting { key: KEY.to_owned(), what: what.to_owned() };
        let written = settings.text(KEY).filter(|text| !text.is_empty()).unwrap_or(INTERFACE);
        let interface = petasos_net::checked_url(written).map_err(|_| wrong("is no address"))?;
        let here = Origin::of(&interface).is_some_and(|origin| origin.is_loopback());
        if interface.scheme() != "https" && !here {
            return Err(wrong("must be an https: address"));
        }
        let token = settings.variable("GITHUB_TOKEN").map(|it| it.value.clone());
        Ok(Self { interface, token })
    }

    /// The repository and the number of `owner/name:12`.
    pub(super) fn place<'a>(&self, rest: &'a str) -> Result<(&'a str, &'a str), String> {
        let (repo, number) =
            rest.rsplit_once(':').ok_or("write github_comment:OWNER/REPO:NUMBER")?;
        let plain = |part: &str| {
            let sign = |sign: char| sign.is_ascii_alphanumeric() || "-_.".contains(sign);
            !part.is_empty() && part.len() <= 100 && part != ".." && part.chars().all(sign)
        };
        let named = repo.split_once('/').is_some_and(|(owner, name)| plain(owner) && plain(name));
        if !named {
            return Err(format!("`{repo}` is no repository: write OWNER/NAME"));
        }
        if number.is_empty() || number.len() > 10 || !number.bytes().all(|it| it.is_ascii_digit()) {
            return Err(format!("`{number}` is no number of an issue"));
        }
        if self.token.is_none() {
            return Err("set GITHUB_TOKEN, which comments are written with".to_owned());
        }
        Ok((repo, number))
    }

    /// One try. GitHub does not know a comment again, so one that may have arrived is not repeated.
    pub(super) async fn attempt(&self, net: &Net, row: &OutboxRow, now_ms: i64) -> Attempt {
        if row.uncertain {
            let error = "it may have arrived: the connection broke while it was sent".to_owned();
            return Attempt::Dead { error };
        }
        let request = match self.request(row) {
            Ok(request) => request,
            Err(error) => return Attempt::Dead { error },
        };
        match net.send(request).await {
            Ok(answer) => match answer.status {
                200..=299 => Attempt::Sent,
                429 => {
                    let at_ms = now_ms + crate::runs::ms(PAUSE);
                    let error = format!("answered {}: too many requests", answer.status);
                    Attempt::Again { at_ms, error, counted: false }
                }
                500.. => again(row, now_ms, format!("answered {}", answer.status)),
                status => Attempt::Dead { error: format!("GitHub refused it with {status}") },
            },
            Err(error) if error.is_unsent() => again(row, now_ms, error.to_string()),
            Err(error) => Attempt::Dead { error: format!("it may have arrived: {error}") },
        }
    }

    fn request(&self, row: &OutboxRow) -> Result<Request, String> {
        let lane = &row.delivery.lane;
        let number = lane.thread.as_deref().unwrap_or_default();
        let (repo, number) = (lane.chat.as_str(), number);
        self.place(&format!("{repo}:{number}"))?;
        let mut url = self.interface.clone();
        let path =
            format!("{}/repos/{repo}/issues/{number}/comments", url.path().trim_end_matches('/'));
        url.set_path(&path);
        let origin = Origin::of(&url).ok_or("the address of GitHub's interface has no host")?;
        let secret = self.token.clone().ok_or("GITHUB_TOKEN is not set")?;
        let reach = if origin.is_loopback() { Reach::Anywhere } else { Reach::PublicOnly };
        let (scope, scheme) = (Scope::exactly(origin), Scheme::Bearer);
        let credential = Credential { owner: "github".to_owned(), secret, scope, scheme };
        let text: String = row.delivery.body.chars().take(LONGEST).collect();
        let body: Value = json!({ "body": text });
        let said = |error: petasos_net::NetError| error.to_string();
        let mut request = Request::new(Method::POST, url)
            .header("content-type", "application/json")
            .and_then(|it| it.header("accept", "application/vnd.github+json"))
            .and_then(|it| it.header("user-agent", "petasos"))
            .and_then(|it| it.header("x-github-api-version", "2022-11-28"))
            .map_err(said)?
            .credential(Some(credential))
            .body(body.to_string());
        (request.reach, request.follow, request.first_byte) = (reach, Follow::Nowhere, PATIENCE);
        Ok(request)
    }
}
