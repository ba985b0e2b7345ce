//! The XML of a stream: one stanza after the other, each as a small tree.

use quick_xml::events::Event;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// The largest stanza that is read.
const STANZA_BYTES_MAX: usize = 1_048_576;

/// An element with its text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Element {
    /// Its name without a prefix.
    pub(super) name: String,
    attributes: Vec<(String, String)>,
    pub(super) children: Vec<Element>,
    /// The text directly inside.
    pub(super) text: String,
}

impl Element {
    /// An attribute; empty when there is none.
    pub(super) fn get(&self, name: &str) -> &str {
        let found = self.attributes.iter().find(|(key, _)| key == name);
        found.map_or("", |(_, value)| value)
    }

    /// The first child of this name.
    pub(super) fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    /// The first child of this name in this namespace.
    pub(super) fn child_of(&self, name: &str, namespace: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name && child.get("xmlns") == namespace)
    }

    /// Reads one whole element.
    fn read(text: &str) -> Option<Self> {
        let mut reader = quick_xml::Reader::from_str(text);
        let mut open: Vec<Self> = Vec::new();
        loop {
            let (element, closed) = match reader.read_event().ok()? {
                Event::Start(start) => (Self::named(&start)?, false),
                Event::Empty(start) => (Self::named(&start)?, true),
                Event::End(_) => {
                    let done = open.pop()?;
                    match open.last_mut() {
                        Some(parent) => parent.children.push(done),
                        None => return Some(done),
                    }
                    continue;
                }
                Event::Text(words) => {
                    if let Some(parent) = open.last_mut() {
                        parent.text.push_str(&words.xml10_content());
                    }
                    continue;
                }
                Event::GeneralRef(name) => {
                    let name = format!("&{};", &*name);
                    let shown = quick_xml::escape::unescape(&name).ok()?;
                    if let Some(parent) = open.last_mut() {
                        parent.text.push_str(&shown);
                    }
                    continue;
                }
                Event::Eof => return None,
                _ => continue,
            };
            match (closed, open.last_mut()) {
                (false, _) => open.push(element),
                (true, Some(parent)) => parent.children.push(element),
                (true, None) => return Some(element),
            }
        }
    }

    fn named(start: &quick_xml::events::BytesStart<'_>) -> Option<Self> {
        let name = start.local_name().into_inner().to_owned();
        let mut attributes = Vec::new();
        for attribute in start.attributes() {
            let attribute = attribute.ok()?;
            let key = attribute.key.local_name().into_inner().to_owned();
            let value = quick_xml::escape::unescape(&attribute.value).ok()?;
            attributes.push((key, value.into_owned()));
        }
        Some(Self { name, attributes, ..Self::default() })
    }
}

/// Text that cannot end an element or an attribute.
pub(super) fn escaped(text: &str) -> String {
    // Characters that XML cannot hold would end the stream.
    let fits = |c: &char| matches!(c, '\t' | '\n') || *c >= ' ';
    let clean: String = text.chars().filter(fits).collect();
    quick_xml::escape::escape(clean).into_owned()
}

/// Reads stanzas from a connection.
pub(super) struct Stanzas<R> {
    reader: BufReader<R>,
}

impl<R: AsyncRead + Unpin> Stanzas<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader: BufReader::new(reader) }
    }

    /// The connection below, to be encrypted.
    pub(super) fn into_inner(self) -> R {
        self.reader.into_inner()
    }

    /// Passes over the head of the stream.
    pub(super) async fn head(&mut self) -> std::io::Result<()> {
        loop {
            let tag = self.tag().await?;
            if tag.starts_with("<stream:stream") {
                return Ok(());
            }
            if !tag.starts_with("<?") {
                return Err(broken("the server does not speak XMPP"));
            }
        }
    }

    /// The next stanza.
    pub(super) async fn next(&mut self) -> std::io::Result<Element> {
        let mut text = String::new();
        let mut depth = 0_usize;
        loop {
            let tag = self.tag().await?;
            let (before, mark) = tag.rsplit_once('<').unwrap_or(("", &tag));
            if depth == 0 && mark.starts_with("/stream:stream") {
                return Err(broken("the server ended the stream"));
            }
            if depth == 0 {
                // What stands between stanzas is a sign of life.
                text.push('<');
                text.push_str(mark);
            } else {
                text.push_str(before);
                text.push('<');
                text.push_str(mark);
            }
            if mark.starts_with('/') {
                depth = depth.saturating_sub(1);
            } else if !mark.ends_with("/>") && !mark.starts_with(['?', '!']) {
                depth += 1;
            }
            if text.len() > STANZA_BYTES_MAX {
                return Err(broken("a stanza does not end"));
            }
            if depth == 0 {
                return Element::read(&text).ok_or_else(|| broken("a stanza cannot be read"));
            }
        }
    }

    /// Text up to the end of the next tag. A `>` in an attribute does not end it.
    async fn tag(&mut self) -> std::io::Result<String> {
        let mut bytes = Vec::new();
        loop {
            if self.reader.read_until(b'>', &mut bytes).await? == 0 {
                return Err(broken("the connection ended"));
            }
            if bytes.len() > STANZA_BYTES_MAX {
                return Err(broken("a stanza does not end"));
            }
            let from = bytes.iter().rposition(|byte| *byte == b'<').unwrap_or(0);
            let inside = bytes.get(from..).unwrap_or_default();
            if !is_open(inside) || inside.starts_with(b"<?") {
                return String::from_utf8(bytes).map_err(|_| broken("the server sends no UTF-8"));
            }
        }
    }
}

/// Whether a tag ends inside an attribute.
fn is_open(tag: &[u8]) -> bool {
    let mut quote = None;
    for byte in tag {
        match quote {
            Some(mark) if mark == *byte => quote = None,
            None if matches!(byte, b'"' | b'\'') => quote = Some(*byte),
            _ => {}
        }
    }
    quote.is_some()
}

fn broken(why: &str) -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidData, why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn stanzas_are_read_one_by_one_whatever_is_in_them() {
        let text = "<?xml version='1.0'?><stream:stream id='1' xmlns='jabber:client'>\n \
            <message from='a@b' note='x &gt; y > z'><body>1 &lt; 2 &amp; it's \"so\"</body><x xmlns='n'/></message>\
            <presence/><iq><query><item/>tail</query></iq></stream:stream>";
        let mut stanzas = Stanzas::new(text.as_bytes());
        stanzas.head().await.unwrap();
        let message = stanzas.next().await.unwrap();
        assert_eq!((message.name.as_str(), message.get("note")), ("message", "x > y > z"));
        assert_eq!(message.child("body").unwrap().text, "1 < 2 & it's \"so\"");
        assert!(message.child_of("x", "n").is_some() && message.child_of("x", "m").is_none());
        assert_eq!(stanzas.next().await.unwrap().name, "presence");
        let iq = stanzas.next().await.unwrap();
        assert_eq!(iq.child("query").unwrap().children.len(), 1);
        assert!(stanzas.next().await.is_err());
        assert_eq!(escaped("a<b>&'\"\u{0}\u{8}c"), "a&lt;b&gt;&amp;&apos;&quot;c");
    }
}
