//! What a text can be recognised by when it is repeated: words in a row, tokens of a command,
//! addresses, handles, numbers and paths.

use twox_hash::XxHash3_64;

/// So many words in a row, and so many tokens of a command.
const WORDS: usize = 8;
const TOKENS: usize = 5;
/// So many characters in a row, where a script has no blanks.
const CHARACTERS: usize = 16;
/// What is shown of a match.
const SHOWN_CHARS: usize = 120;

/// Something to recognise a text by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Feature {
    pub(crate) hash: u64,
    /// Words or tokens in a row, not a single address.
    pub(crate) phrase: bool,
    /// Where it stands.
    pub(crate) at: (usize, usize),
}

/// Everything that a text can be recognised by, in its order.
pub(crate) fn features(text: &str) -> Vec<Feature> {
    let mut found = Vec::new();
    phrases(text, &mut found);
    tokens(text, &mut found);
    unspaced(text, &mut found);
    entities(text, &mut found);
    numbers(text, &mut found);
    found
}

/// The text of a feature, for a person.
pub(crate) fn shown(text: &str, feature: &Feature) -> String {
    let piece = text.get(feature.at.0..feature.at.1).unwrap_or_default();
    piece.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(SHOWN_CHARS).collect()
}

/// Words are letters and digits; their case does not count.
fn phrases(text: &str, found: &mut Vec<Feature>) {
    let words = pieces(text, |letter| letter.is_alphanumeric() && !is_unspaced(letter));
    let hashes: Vec<u64> = words
        .iter()
        .map(|(start, end)| hash(&text.get(*start..*end).unwrap_or_default().to_lowercase(), 1))
        .collect();
    rows(&words, &hashes, WORDS, found);
}

/// Tokens of a command are what blanks separate, as they are written.
fn tokens(text: &str, found: &mut Vec<Feature>) {
    let words = pieces(text, |letter| !letter.is_whitespace());
    let piece = |(start, end): &(usize, usize)| {
        let token = text.get(*start..*end).unwrap_or_default();
        hash(token.trim_matches(['`', '"', '\'', ',', ';']), 2)
    };
    let hashes: Vec<u64> = words.iter().map(piece).collect();
    rows(&words, &hashes, TOKENS, found);
}

fn rows(places: &[(usize, usize)], hashes: &[u64], length: usize, found: &mut Vec<Feature>) {
    for (row, places) in hashes.windows(length).zip(places.windows(length)) {
        let (Some(first), Some(last)) = (places.first(), places.last()) else { continue };
        let mixed = row.iter().fold(length as u64, |mixed, hash| {
            mixed.rotate_left(9).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ hash
        });
        found.push(Feature { hash: mixed, phrase: true, at: (first.0, last.1) });
    }
}

/// Scripts that are written without blanks.
fn is_unspaced(letter: char) -> bool {
    matches!(letter, '\u{0E00}'..='\u{0EFF}' | '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}')
}

fn unspaced(text: &str, found: &mut Vec<Feature>) {
    let letters: Vec<(usize, char)> =
        text.char_indices().filter(|(_, letter)| is_unspaced(*letter)).collect();
    for row in letters.windows(CHARACTERS) {
        let (Some(first), Some(last)) = (row.first(), row.last()) else { continue };
        let piece: String = row.iter().map(|(_, letter)| *letter).collect();
        let at = (first.0, last.0 + last.1.len_utf8());
        found.push(Feature { hash: hash(&piece, 3), phrase: true, at });
    }
}

/// Addresses, handles, numbers, accounts and paths.
fn entities(text: &str, found: &mut Vec<Feature>) {
    let separates = |letter: char| letter.is_whitespace() || "\"'<>()[]{}|,;`".contains(letter);
    for (start, end) in pieces(text, |letter| !separates(letter)) {
        let token = text.get(start..end).unwrap_or_default().trim_end_matches(['.', ':', '!', '?']);
        let at = (start, start + token.len());
        for name in named(token) {
            found.push(Feature { hash: hash(&name, 4), phrase: false, at });
        }
    }
}

/// Numbers to call, however they are grouped.
fn numbers(text: &str, found: &mut Vec<Feature>) {
    for (start, end) in pieces(text, |it| it.is_ascii_digit() || "+-.() ".contains(it)) {
        let piece = text.get(start..end).unwrap_or_default();
        let digits: String = piece.chars().filter(char::is_ascii_digit).collect();
        if (7..=15).contains(&digits.len()) {
            found.push(Feature { hash: hash(&digits, 4), phrase: false, at: (start, end) });
        }
    }
}

/// What a token stands for, spelt one way.
fn named(token: &str) -> Vec<String> {
    let lower = token.to_lowercase();
    if let Some(address) = url::Url::parse(token).ok().filter(url::Url::has_host) {
        let host = address.host_str().map(str::to_lowercase);
        return std::iter::once(address.to_string()).chain(host).collect();
    }
    let is_address = lower.split_once('@').is_some_and(|(who, host)| {
        !who.is_empty() && host.contains('.') || who.is_empty() && host.len() > 2
    });
    if is_address {
        let host = lower.split_once('@').map(|(_, host)| host.to_owned());
        let host = host.filter(|host| host.contains('.'));
        return std::iter::once(lower.clone()).chain(host).collect();
    }
    let parts = token.split('/').filter(|part| !part.is_empty()).count();
    if token.starts_with('/') && parts >= 2 || is_account(token) {
        return vec![token.to_owned()];
    }
    if is_host(&lower) { vec![lower] } else { Vec::new() }
}

/// Wallets and bank accounts, by their shape.
fn is_account(token: &str) -> bool {
    let plain = token.chars().all(|letter| letter.is_ascii_alphanumeric());
    let has = |test: fn(&char) -> bool| token.chars().any(|letter| test(&letter));
    plain
        && (26..=90).contains(&token.len())
        && has(char::is_ascii_digit)
        && (token.starts_with("0x")
            || has(char::is_ascii_uppercase) && has(char::is_ascii_lowercase)
            || token.chars().take(2).all(|letter| letter.is_ascii_uppercase()))
        || plain
            && (15..=34).contains(&token.len())
            && token.chars().take(2).all(|letter| letter.is_ascii_uppercase())
            && token.chars().skip(2).all(|letter| letter.is_ascii_digit())
}

/// A bare name of a host, and not that of a file.
fn is_host(token: &str) -> bool {
    const FILES: [&str; 32] = [
        "rs", "py", "js", "ts", "md", "txt", "json", "toml", "yaml", "yml", "html", "css", "c",
        "h", "go", "sh", "lock", "png", "jpg", "svg", "pdf", "rb", "java", "cpp", "hpp", "xml",
        "csv", "sql", "tsx", "jsx", "cfg", "log",
    ];
    let host = token.split(['/', ':']).next().unwrap_or_default();
    let Some((name, ending)) = host.rsplit_once('.') else { return false };
    name.len() > 1
        && (2..=24).contains(&ending.len())
        && ending.chars().all(|letter| letter.is_ascii_lowercase())
        && name
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '.' || letter == '-')
        && !FILES.contains(&ending)
}

/// Where the stretches of matching letters stand.
fn pieces(text: &str, matches: impl Fn(char) -> bool) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, letter) in text.char_indices() {
        match (matches(letter), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                found.push((from, at));
                start = None;
            }
            _ => {}
        }
    }
    found.extend(start.map(|from| (from, text.len())));
    found
}

fn hash(text: &str, kind: u64) -> u64 {
    XxHash3_64::oneshot_with_seed(kind, text.as_bytes())
}
