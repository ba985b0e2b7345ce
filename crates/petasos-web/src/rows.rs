//! The rows of an answer: read, cleaned, each page once.

use std::collections::HashSet;

use petasos_net::sites::{Neighbourhood, neighbourhood};
use petasos_net::{Url, checked_url};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::search::Unusable;

const TITLE_CHARS: usize = 200;
const DESCRIPTION_CHARS: usize = 500;

/// A row of an answer, as the provider gave it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The page's title.
    pub title: String,
    /// Its address.
    pub url: String,
    /// A few words of it.
    pub description: String,
    /// When it was published.
    pub published: Option<String>,
}

impl Row {
    /// A row from the fields of an object.
    pub(crate) fn of(value: &Value, [title, url, description, published]: [&str; 4]) -> Self {
        let text =
            |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let published = value.get(published).and_then(Value::as_str).map(str::to_owned);
        Self { title: text(title), url: text(url), description: text(description), published }
    }
}

/// One line a row, no address twice, none that could not be opened.
pub(crate) fn cleaned(rows: &[Row], limit: usize) -> (Vec<Value>, usize) {
    let (mut seen, mut clean, mut dropped) = (HashSet::new(), Vec::new(), 0);
    for row in rows {
        let Ok(url) = checked_url(&row.url) else {
            dropped += 1;
            continue;
        };
        let public = neighbourhood(url.host_str().unwrap_or_default()) == Neighbourhood::Public;
        if !matches!(url.scheme(), "http" | "https") || !public {
            dropped += 1;
            continue;
        }
        if !seen.insert(canonical(&url)) || clean.len() >= limit {
            continue;
        }
        let mut told = json!({ "title": plain(&row.title, TITLE_CHARS), "url": url.as_str(),
            "description": plain(&row.description, DESCRIPTION_CHARS), "position": clean.len() + 1 });
        if let (Some(date), Some(object)) = (&row.published, told.as_object_mut()) {
            object.insert("published".to_owned(), date.clone().into());
        }
        clean.push(told);
    }
    (clean, dropped)
}

/// Two addresses of one page come out alike.
fn canonical(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let host = ["m.", "amp.", "www."]
        .iter()
        .fold(host, |host, start| host.strip_prefix(start).unwrap_or(host));
    let is_noise = |name: &str| {
        name.starts_with("utm_") || name.starts_with("mc_") || matches!(name, "gclid" | "fbclid")
    };
    let mut query: Vec<String> = url
        .query_pairs()
        .filter(|(name, _)| !is_noise(name))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    query.sort();
    format!("{host}{}?{}", url.path().trim_end_matches('/'), query.join("&"))
}

/// Text without tags and entities, on one line, cut.
pub(crate) fn plain(text: &str, chars: usize) -> String {
    let mut bare = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        bare.push_str(before);
        let is_tag = after.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '!');
        match after.split_once('>') {
            Some((_, behind)) if is_tag => rest = behind,
            Some(_) | None => {
                bare.push('<');
                rest = after;
            }
        }
    }
    bare.push_str(rest);
    for (entity, letter) in [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&#x27;", "'"),
        ("&apos;", "'"),
        ("&nbsp;", " "),
        ("&amp;", "&"),
    ] {
        bare = bare.replace(entity, letter);
    }
    let line = bare.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(chars) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
        None => line,
    }
}

/// A word in a query of an address.
pub(crate) fn encoded(text: &str) -> String {
    let mut coded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            coded.push(char::from(byte));
        } else {
            let digit = |half: u8| {
                char::from_digit(u32::from(half), 16).unwrap_or('0').to_ascii_uppercase()
            };
            coded.extend(['%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
    coded
}

/// The rows of a JSON answer at a path.
pub(crate) fn rows_at(body: &str, path: &[&str], fields: [&str; 4]) -> Result<Vec<Row>, Unusable> {
    let value: Value = serde_json::from_str(body)?;
    let list = path.iter().fold(&value, |value, key| &value[*key]);
    match list {
        Value::Array(list) => Ok(list.iter().map(|row| Row::of(row, fields)).collect()),
        Value::Null => Ok(Vec::new()),
        _ => Err(format!("`{}` is no list", path.join(".")).as_str().into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_cleaned_and_told_once() {
        let row = |url: &str| Row {
            title: "<b>A</b> &amp; B".to_owned(),
            url: url.to_owned(),
            description: "x\n y".to_owned(),
            published: None,
        };
        let rows = [
            "https://a.example/p?utm_source=x",
            "https://www.a.example/p/",
            "https://m.a.example/p#top",
            "http://127.0.0.1/x",
            "javascript:1",
            "https://b.example/?b=2&a=1",
            "https://b.example/?a=1&b=2",
        ]
        .map(row);
        let (clean, dropped) = cleaned(&rows, 10);
        assert_eq!((clean.len(), dropped), (2, 2), "{clean:?}");
        assert_eq!(clean[0]["title"], "A & B");
        assert_eq!(clean[0]["description"], "x y");
        assert_eq!(clean[1]["position"], 2);
    }
}
