//! The lines of iCalendar and vCard: folded, with parameters, and their text escaped.

/// One property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its name, in capitals.
    pub name: String,
    /// Its parameters.
    pub params: Vec<(String, String)>,
    /// Its value, as it stands.
    pub value: String,
}

impl Line {
    /// Reads one line that is not folded any more.
    pub fn read(line: &str) -> Option<Self> {
        // A colon between quotes belongs to a parameter.
        let mut inside = false;
        let colon = line.char_indices().find_map(|(at, c)| {
            inside ^= c == '"';
            (c == ':' && !inside).then_some(at)
        })?;
        let (head, value) = (line.get(..colon)?, line.get(colon + 1..)?);
        let mut parts = head.split(';');
        let name = parts.next()?.trim().to_uppercase();
        // A group such as `item1.` says nothing about the property.
        let name = name.rsplit('.').next().unwrap_or_default().to_owned();
        let params = parts.filter_map(|part| {
            let (key, value) = part.split_once('=')?;
            Some((key.to_uppercase(), value.trim_matches('"').to_owned()))
        });
        Some(Self { name, params: params.collect(), value: value.to_owned() })
    }

    /// A parameter.
    pub fn param(&self, name: &str) -> Option<&str> {
        self.params.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Its value as text.
    pub fn text(&self) -> String {
        let (mut text, mut chars) = (String::new(), self.value.chars());
        while let Some(c) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some('n' | 'N') => text.push('\n'),
                    Some(other) => text.push(other),
                    None => {}
                },
                other => text.push(other),
            }
        }
        text
    }
}

/// The lines of a text, each whole.
pub fn unfolded(text: &str) -> Vec<String> {
    let mut whole: Vec<String> = Vec::new();
    for line in text.split('\n') {
        let line = line.strip_suffix('\r').unwrap_or(line);
        match (line.strip_prefix([' ', '\t']), whole.last_mut()) {
            (Some(more), Some(last)) => last.push_str(more),
            _ if line.is_empty() => {}
            _ => whole.push(line.to_owned()),
        }
    }
    whole
}

/// A text as a value.
pub fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace(';', "\\;").replace(',', "\\,");
    text.replace("\r\n", "\\n").replace(['\n', '\r'], "\\n")
}

/// Lines as a file: folded at 75 bytes, between letters.
pub fn folded<'a>(lines: impl IntoIterator<Item = &'a str>) -> String {
    let mut text = String::new();
    for line in lines {
        let mut used = 0;
        for c in line.chars().filter(|c| !c.is_control()) {
            if used + c.len_utf8() > 75 {
                text.push_str("\r\n ");
                used = 1;
            }
            text.push(c);
            used += c.len_utf8();
        }
        text.push_str("\r\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_survive_folding_and_escaping() {
        let words = "Grüße, \"x\"; a\\b\nsecond ".repeat(9);
        let line = format!("SUMMARY;X=\"a:b\":{}", escaped(&words));
        let file = folded([line.as_str()]);
        assert!(file.split("\r\n").all(|line| line.len() <= 75));
        let back = Line::read(&unfolded(&file)[0]).unwrap();
        assert_eq!((back.name.as_str(), back.param("X")), ("SUMMARY", Some("a:b")));
        assert_eq!(back.text(), words);
        assert_eq!(Line::read("item1.EMAIL;TYPE=work:a@b").unwrap().name, "EMAIL");
        assert!(Line::read("no colon").is_none());
    }
}
