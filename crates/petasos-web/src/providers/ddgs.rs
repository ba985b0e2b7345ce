//! DuckDuckGo without a key: its page for browsers without scripts. A challenge is not solved.

use petasos_contract::Settings;
use petasos_net::Url;

use crate::rows::{Row, encoded};
use crate::search::{SearchAsk, SearchDef, Unusable};
use crate::service::{KeyHeader, Outgoing, Service};

pub(super) static PROVIDER: SearchDef = SearchDef {
    service: Service {
        id: "ddgs",
        aliases: &["duckduckgo"],
        base: "https://html.duckduckgo.com",
        key_header: KeyHeader::None,
        status: |status| match status {
            202 => Some((
                "rate_limited",
                "wants to know whether a person asks; try later or set a key of another service",
            )),
            _ => None,
        },
        ..Service::USUAL
    },
    rows_max: 30,
    pages: true,
    outgoing,
    rows,
    ..SearchDef::USUAL
};

fn outgoing(ask: &SearchAsk, _: &Settings) -> Outgoing {
    let range = match ask.freshness.as_deref() {
        Some("day") => "&df=d",
        Some("week") => "&df=w",
        Some("month") => "&df=m",
        Some("year") => "&df=y",
        Some(_) | None => "",
    };
    let skip = if ask.offset > 0 { format!("&s={}", ask.offset) } else { String::new() };
    Outgoing { path: format!("/html/?q={}{range}{skip}", encoded(&ask.query)), body: None }
}

fn rows(body: &str) -> Result<Vec<Row>, Unusable> {
    if body.contains("anomaly-modal") || body.contains("challenge-form") {
        let why = "it wants to know whether a person asks".to_owned();
        return Err(Unusable { kind: "rate_limited", why });
    }
    let found = body.split("class=\"result__a\"").skip(1).map(|piece| {
        let before = piece.split_once('>').map_or("", |(tag, _)| tag);
        let title = inside(piece);
        let snippet = piece.split_once("class=\"result__snippet\"").map_or("", |(_, rest)| rest);
        Row { title, url: unwrapped(before), description: inside(snippet), published: None }
    });
    Ok(found.filter(|row| !row.url.is_empty()).collect())
}

/// The text between the end of a tag and the end of its link.
fn inside(piece: &str) -> String {
    let text = piece.split_once('>').map_or("", |(_, rest)| rest);
    text.split_once("</a>").map_or("", |(text, _)| text).to_owned()
}

/// The address behind the redirect that every link goes through.
fn unwrapped(tag: &str) -> String {
    let Some((_, rest)) = tag.split_once("href=\"") else { return String::new() };
    let href = rest.split('"').next().unwrap_or_default().replace("&amp;", "&");
    let absolute = if href.starts_with("//") { format!("https:{href}") } else { href };
    let Ok(url) = Url::parse(&absolute) else { return String::new() };
    let behind =
        url.query_pairs().find(|(name, _)| name == "uddg").map(|(_, target)| target.into_owned());
    behind.unwrap_or(absolute)
}
