//! The one answer of WebDAV that matters: things with their properties.

use std::collections::BTreeMap;

use quick_xml::Reader;
use quick_xml::events::Event;

/// Deeper answers are bombs, not answers.
const DEPTH_MAX: usize = 64;
/// Where the properties of a thing stand: multistatus, response, propstat, prop, name.
const PROPERTY: usize = 4;

/// A thing that was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) href: String,
    pub(super) kinds: Vec<String>,
    properties: BTreeMap<String, String>,
}

impl Found {
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.properties.get(name).map(String::as_str)
    }
}

/// Reads a `multistatus`.
pub(super) fn read(text: &str) -> Result<Vec<Found>, String> {
    let mut reader = Reader::from_str(text);
    let (mut path, mut found): (Vec<String>, Vec<Found>) = (Vec::new(), Vec::new());
    loop {
        match reader.read_event() {
            Ok(Event::Start(start)) => {
                let name = local(start.name().as_ref());
                opened(&path, &name, &mut found);
                path.push(name);
                if path.len() > DEPTH_MAX {
                    return Err("it is nested too deeply".to_owned());
                }
            }
            Ok(Event::Empty(start)) => opened(&path, &local(start.name().as_ref()), &mut found),
            Ok(Event::End(_)) => {
                path.pop();
            }
            Ok(Event::Text(text)) => put(&path, &text, &mut found),
            Ok(Event::CData(data)) => put(&path, &data, &mut found),
            Ok(Event::GeneralRef(name)) => {
                put(&path, &entity(&name), &mut found);
            }
            Ok(Event::Eof) => break,
            Ok(_) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(found)
}

fn local(name: &str) -> String {
    name.rsplit(':').next().unwrap_or_default().to_owned()
}

fn opened(path: &[String], name: &str, found: &mut Vec<Found>) {
    if path.len() == 1 && name == "response" {
        found.push(Found::default());
    }
    let Some(last) = found.last_mut() else { return };
    if path.len() == PROPERTY && path.last().is_some_and(|it| it == "prop") {
        last.properties.entry(name.to_owned()).or_default();
    }
    if path.get(PROPERTY).is_some_and(|property| property == "resourcetype") {
        last.kinds.push(name.to_owned());
    }
}

fn put(path: &[String], text: &str, found: &mut [Found]) {
    let Some(last) = found.last_mut() else { return };
    if path.len() == 3 && path.last().is_some_and(|name| name == "href") {
        last.href.push_str(text.trim());
    }
    if let Some(value) = path.get(PROPERTY).and_then(|name| last.properties.get_mut(name)) {
        value.push_str(text);
    }
}

/// A character by its name or number.
fn entity(name: &str) -> String {
    let number = name.strip_prefix('#').map(|digits| match digits.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => digits.parse(),
    });
    if let Some(Ok(number)) = number {
        return char::from_u32(number).map(String::from).unwrap_or_default();
    }
    quick_xml::escape::resolve_xml_entity(name).unwrap_or_default().to_owned()
}

/// A text inside of XML.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_and_their_properties_are_read_whatever_the_prefixes_are() {
        let text = "<?xml version='1.0'?><multistatus xmlns='DAV:' xmlns:C='x'><response>\
            <href>/a/</href><propstat><prop><resourcetype><C:calendar/><collection/></resourcetype>\
            <displayname>A &amp; B</displayname><C:calendar-data>X:1&#13;\nY:2</C:calendar-data>\
            </prop><status>HTTP/1.1 200 OK</status></propstat></response></multistatus>";
        let found = read(text).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].href.as_str(), found[0].text("displayname")), ("/a/", Some("A & B")));
        assert_eq!(found[0].kinds, ["calendar", "collection"]);
        assert_eq!(found[0].text("calendar-data"), Some("X:1\r\nY:2"));
        assert!(read(&"<a>".repeat(100)).is_err());
    }
}
