//! People of the address books.

use serde_json::{Value, json};

use super::lines::{Line, unfolded};
use super::xml;
use super::{CARDDAV, Dav};
use crate::fault::VendorError;
use crate::text::cut;

const TEXT_CHARS: usize = 200;

impl Dav {
    /// People whose card holds all the words.
    pub async fn contacts(&self, words: &str, limit: usize) -> Result<Value, VendorError> {
        let wanted: Vec<String> =
            words.to_lowercase().split_whitespace().map(str::to_owned).collect();
        let books = self.collections("addressbook-home-set", "addressbook").await?;
        // Some servers want a filter; the longest word narrows what is sent.
        let longest = wanted.iter().max_by_key(|word| word.chars().count());
        let matching = longest.map_or(String::new(), |word| {
            ["FN", "EMAIL", "TEL", "ORG", "NICKNAME"]
                .map(|name| {
                    format!(
                        "<A:prop-filter name=\"{name}\"><A:text-match collation=\"i;unicode-casemap\" \
                         match-type=\"contains\">{}</A:text-match></A:prop-filter>",
                        xml::escaped(word)
                    )
                })
                .concat()
        });
        let body = format!(
            "<A:addressbook-query xmlns:D=\"DAV:\" xmlns:A=\"{CARDDAV}\"><D:prop><A:address-data/>\
             </D:prop><A:filter test=\"anyof\">{matching}</A:filter></A:addressbook-query>"
        );
        let mut people = Vec::new();
        for book in &books {
            for it in self.listed("REPORT", &book.href, "1", body.clone()).await? {
                people.extend(card(it.text("address-data").unwrap_or_default(), &book.name));
            }
        }
        people.retain(|person| {
            let text = person.to_string().to_lowercase();
            wanted.iter().all(|word| text.contains(word.as_str()))
        });
        people.sort_by_key(|person| {
            person.get("name").and_then(Value::as_str).unwrap_or_default().to_lowercase()
        });
        let total = people.len();
        people.truncate(limit);
        Ok(json!({
            "success": true, "count": people.len(), "total": total, "contacts": people,
        }))
    }
}

/// One person.
fn card(text: &str, book: &str) -> Option<Value> {
    let lines: Vec<Line> = unfolded(text).iter().filter_map(|line| Line::read(line)).collect();
    let all = |name: &str| -> Vec<String> {
        let found = lines.iter().filter(|line| line.name == name);
        found.map(|line| cut(line.text().trim_matches(';').trim(), TEXT_CHARS)).collect()
    };
    let name = all("FN").into_iter().next()?;
    let mut told = json!({ "name": name, "book": book });
    if let Some(object) = told.as_object_mut() {
        for (key, property) in
            [("emails", "EMAIL"), ("phones", "TEL"), ("organisation", "ORG"), ("note", "NOTE")]
        {
            let found = all(property);
            if !found.is_empty() {
                object.insert(key.to_owned(), json!(found));
            }
        }
    }
    Some(told)
}
