//! Feeds and sitemaps: the newest entries, or the addresses, as Markdown.

use quick_xml::Reader;
use quick_xml::events::Event;
use serde_json::Value;

const ENTRIES_MAX: usize = 20;
const SUMMARY_CHARS: usize = 500;
const ADDRESSES_MAX: usize = 200;

#[derive(Debug, Default)]
struct Entry {
    title: String,
    link: String,
    date: String,
    summary: String,
}

/// A feed as a list; `None` when it is none.
pub(crate) fn read(xml: &str) -> Option<(String, String)> {
    let mut reader = Reader::from_str(xml);
    reader.config_mut().check_end_names = false;
    let (mut title, mut entries): (String, Vec<Entry>) = (String::new(), Vec::new());
    let mut path: Vec<String> = Vec::new();
    loop {
        match reader.read_event() {
            Ok(Event::Start(start)) => {
                let name = local(start.name().as_ref());
                if matches!(name.as_str(), "item" | "entry") {
                    entries.push(Entry::default());
                }
                set_link(&name, &start, &mut entries);
                path.push(name);
            }
            Ok(Event::Empty(start)) => {
                set_link(&local(start.name().as_ref()), &start, &mut entries);
            }
            Ok(Event::End(_)) => {
                path.pop();
            }
            Ok(Event::Text(text)) => {
                let text = unescaped(&text);
                put(&path, &text, &mut title, &mut entries);
            }
            Ok(Event::CData(data)) => {
                put(&path, &data, &mut title, &mut entries);
            }
            Ok(Event::GeneralRef(name)) => {
                let name: &str = &name;
                put(&path, &unescaped(&format!("&{name};")), &mut title, &mut entries);
            }
            Ok(Event::Eof) | Err(_) => break,
            Ok(_) => {}
        }
    }
    (!entries.is_empty()).then(|| (title.trim().to_owned(), list(&entries)))
}

fn local(name: &str) -> String {
    name.rsplit(':').next().unwrap_or_default().to_ascii_lowercase()
}

fn set_link(name: &str, start: &quick_xml::events::BytesStart<'_>, entries: &mut [Entry]) {
    let Some(entry) = entries.last_mut().filter(|entry| name == "link" && entry.link.is_empty())
    else {
        return;
    };
    let value = |wanted: &str| {
        let found = start.attributes().flatten().find(|it| it.key.as_ref() == wanted)?;
        Some(unescaped(&found.value))
    };
    let is_page = value("rel").is_none_or(|rel| rel == "alternate");
    if let Some(link) = value("href").filter(|_| is_page) {
        entry.link = link;
    }
}

fn put(path: &[String], text: &str, title: &mut String, entries: &mut [Entry]) {
    let Some(name) = path.last() else { return };
    let is_inside = path.iter().any(|part| matches!(part.as_str(), "item" | "entry"));
    let is_before = entries.is_empty();
    match (entries.last_mut().filter(|_| is_inside), name.as_str()) {
        (None, "title") if is_before => title.push_str(text),
        (Some(entry), "title") => entry.title.push_str(text),
        (Some(entry), "link") => entry.link.push_str(text.trim()),
        (Some(entry), "pubdate" | "published" | "updated" | "date") if entry.date.is_empty() => {
            text.trim().clone_into(&mut entry.date);
        }
        (Some(entry), "description" | "summary" | "encoded" | "content") => {
            entry.summary.push_str(text);
        }
        (Some(_) | None, _) => {}
    }
}

fn unescaped(text: &str) -> String {
    let mut plain = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    plain = plain.replace("&apos;", "'").replace("&#39;", "'").replace("&nbsp;", " ");
    plain.replace("&amp;", "&")
}

fn list(entries: &[Entry]) -> String {
    let line = |entry: &Entry| {
        let summary = crate::rows::plain(&entry.summary, SUMMARY_CHARS);
        let title = crate::rows::plain(&entry.title, 200);
        let date = if entry.date.is_empty() { String::new() } else { format!(" ({})", entry.date) };
        let summary = if summary.is_empty() { String::new() } else { format!("\n  {summary}") };
        format!("- [{title}]({}){date}{summary}", entry.link)
    };
    entries.iter().take(ENTRIES_MAX).map(line).collect::<Vec<_>>().join("\n")
}

/// A JSON feed as a list; `None` when it is another JSON.
pub(crate) fn read_json(value: &Value) -> Option<(String, String)> {
    let version = value.get("version")?.as_str()?;
    let items = value.get("items")?.as_array().filter(|_| version.contains("jsonfeed"))?;
    let text = |item: &Value, keys: &[&str]| {
        let found = keys.iter().find_map(|key| item.get(*key)?.as_str());
        found.unwrap_or_default().to_owned()
    };
    let entries: Vec<Entry> = items
        .iter()
        .map(|item| Entry {
            title: text(item, &["title"]),
            link: text(item, &["url", "id"]),
            date: text(item, &["date_published"]),
            summary: text(item, &["summary", "content_text", "content_html"]),
        })
        .collect();
    Some((text(value, &["title"]), list(&entries)))
}

/// The addresses of a sitemap.
pub(crate) fn sitemap(xml: &str) -> String {
    let places = xml.split("<loc>").skip(1).filter_map(|rest| rest.split_once("</loc>"));
    let places: Vec<String> =
        places.map(|(place, _)| format!("- {}", unescaped(place.trim()))).collect();
    let more = places.len().saturating_sub(ADDRESSES_MAX);
    let text = places.iter().take(ADDRESSES_MAX).cloned().collect::<Vec<_>>().join("\n");
    if more > 0 { format!("{text}\n…and {more} more") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feeds_of_three_kinds_are_read_alike() {
        let rss = "<rss><channel><title>News</title><item><title>A &amp; B</title><link>https://a.example/1</link><pubDate>Mon</pubDate><description><![CDATA[<p>Hi <b>there</b></p>]]></description></item></channel></rss>";
        let (title, list) = read(rss).unwrap();
        assert_eq!(
            (title.as_str(), list.as_str()),
            ("News", "- [A & B](https://a.example/1) (Mon)\n  Hi there")
        );
        let atom = "<feed xmlns='x'><title>T</title><entry><title>One</title><link rel='self' href='https://x/self'/><link href='https://x/1'/><updated>2026</updated><summary>S</summary></entry></feed>";
        assert_eq!(read(atom).unwrap().1, "- [One](https://x/1) (2026)\n  S");
        let json = serde_json::json!({ "version": "https://jsonfeed.org/version/1.1", "title": "J",
            "items": [{ "title": "X", "url": "https://x/2" }] });
        assert_eq!(read_json(&json).unwrap(), ("J".to_owned(), "- [X](https://x/2)".to_owned()));
        assert_eq!(read("<a><b/></a>"), None);
        assert_eq!(
            sitemap("<urlset><url><loc>https://a/?x=1&amp;y=2</loc></url></urlset>"),
            "- https://a/?x=1&y=2"
        );
    }
}
