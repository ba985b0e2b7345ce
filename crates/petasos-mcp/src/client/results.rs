//! What a server gave back, as the model reads it: text in line, media kept as files.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use regex::Regex;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::content::{Attached, Piece};

/// The largest sound or blob that is kept.
const BLOB_MAX: usize = 50 * 1024 * 1024;

#[expect(clippy::unwrap_used, reason = "the pattern is a constant that a test compiles")]
static CREDENTIAL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?x)
        (?i:bearer)\s+[A-Za-z0-9._~+/=-]{8,}
        | \b(sk|pk|rk)-[A-Za-z0-9_-]{16,} | \bgh[pousr]_[A-Za-z0-9]{20,} | \bxox[abpr]-[A-Za-z0-9-]{10,}
        | \bAKIA[0-9A-Z]{16}\b | \beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*
        | (?i:\b(api[_-]?key|token|secret|password)\b["']?\s*[=:]\s*["']?)[^\s"'&,]{8,}"#,
    )
    .unwrap()
});

/// The text without what looks like a credential.
pub(super) fn mask(text: &str) -> String {
    CREDENTIAL.replace_all(text, "[REDACTED]").into_owned()
}

/// The result of a call.
pub(super) struct Given {
    pub(super) content: Vec<Piece>,
    pub(super) structured: Option<Value>,
    pub(super) is_error: bool,
}

/// Where media go and by which tool a linked resource is read.
pub(super) struct Shelf<'a> {
    pub(super) home: &'a Path,
    pub(super) reader: Option<&'a str>,
}

/// The result as the model reads it.
pub(super) fn told(given: &Given, shelf: &Shelf<'_>) -> String {
    if given.is_error {
        let texts = given.content.iter().filter_map(|piece| match piece {
            Piece::Text { text } => Some(text.as_str()),
            Piece::Resource { resource } => resource.text.as_deref(),
            _ => None,
        });
        let text = texts.collect::<Vec<_>>().join("\n");
        let text = if text.is_empty() { "the tool failed without saying why" } else { &text };
        return json!({ "error": mask(text) }).to_string();
    }
    let text = shelf.written(&given.content);
    let result = match &given.structured {
        Some(structured) if text.is_empty() => json!({ "result": structured }),
        Some(structured) => json!({ "result": text, "structuredContent": structured }),
        None => json!({ "result": text }),
    };
    result.to_string()
}

impl Shelf<'_> {
    /// Pieces as lines.
    pub(super) fn written(&self, pieces: &[Piece]) -> String {
        pieces.iter().map(|piece| self.line(piece)).collect::<Vec<_>>().join("\n")
    }

    fn line(&self, piece: &Piece) -> String {
        match piece {
            Piece::Text { text } => text.clone(),
            Piece::Image { data, mime_type } => self.media("images", data, mime_type),
            Piece::Audio { data, mime_type } => self.media("audio", data, mime_type),
            Piece::Resource { resource } => self.resource(resource),
            Piece::ResourceLink { uri, name, .. } => match self.reader {
                Some(reader) => format!("[resource {name}: {uri}; read it with `{reader}`]"),
                None => format!("[resource {name}: {uri}]"),
            },
        }
    }

    /// A resource: its text, or where its bytes are kept.
    pub(super) fn resource(&self, resource: &Attached) -> String {
        let Some(blob) = &resource.blob else { return resource.text.clone().unwrap_or_default() };
        let kind = resource.mime_type.as_deref().unwrap_or("application/octet-stream");
        match self.keep("documents", blob, kind) {
            Ok((path, size)) => format!(
                "[binary resource {}: {kind}, {size} bytes, kept at {}]",
                resource.uri,
                path.display()
            ),
            Err(why) => format!("[binary resource {} was not kept: {why}]", resource.uri),
        }
    }

    fn media(&self, folder: &str, data: &str, kind: &str) -> String {
        match self.keep(folder, data, kind) {
            Ok((path, _)) => format!("MEDIA:{}", path.display()),
            Err(why) => format!("[{kind} was not kept: {why}]"),
        }
    }

    fn keep(&self, folder: &str, data: &str, kind: &str) -> Result<(PathBuf, usize), String> {
        // Three bytes take four characters.
        if data.len() / 4 > BLOB_MAX / 3 {
            return Err(format!("it is larger than {BLOB_MAX} bytes"));
        }
        let bytes =
            STANDARD.decode(data.trim()).map_err(|error| format!("it is no base64: {error}"))?;
        let name: Vec<String> =
            Sha256::digest(&bytes).iter().take(12).map(|byte| format!("{byte:02x}")).collect();
        let folder = self.home.join("cache").join(folder);
        let path = folder.join(format!("mcp_{}.{}", name.concat(), extension(kind)));
        let write = || -> std::io::Result<()> {
            std::fs::create_dir_all(&folder)?;
            let mut file = tempfile::NamedTempFile::new_in(&folder)?;
            file.write_all(&bytes)?;
            file.persist(&path).map(drop).map_err(|error| error.error)
        };
        write().map_err(|error| error.to_string())?;
        Ok((path, bytes.len()))
    }
}

fn extension(kind: &str) -> String {
    let sub = kind.split(';').next().unwrap_or(kind).split('/').nth(1).unwrap_or("bin");
    match sub {
        "jpeg" => "jpg".to_owned(),
        "mpeg" => "mp3".to_owned(),
        "plain" => "txt".to_owned(),
        "svg+xml" => "svg".to_owned(),
        "octet-stream" => "bin".to_owned(),
        other => other.chars().filter(char::is_ascii_alphanumeric).take(8).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(given: &Given) -> Value {
        let home = tempfile::tempdir().unwrap();
        let shelf = Shelf { home: home.path(), reader: Some("mcp__s__read_resource") };
        serde_json::from_str(&told(given, &shelf)).unwrap()
    }

    fn given(content: Vec<Piece>) -> Given {
        Given { content, structured: None, is_error: false }
    }

    #[test]
    fn text_structure_and_errors_have_their_shapes() {
        let two = vec![Piece::text("a"), Piece::text("b")];
        assert_eq!(read(&given(two.clone())), json!({ "result": "a\nb" }));
        let both = Given { structured: Some(json!({ "x": 1 })), ..given(two) };
        assert_eq!(read(&both), json!({ "result": "a\nb", "structuredContent": { "x": 1 } }));
        let only = Given { structured: Some(json!([1])), ..given(Vec::new()) };
        assert_eq!(read(&only), json!({ "result": [1] }));
        let failed = Given { is_error: true, ..given(vec![Piece::text("token=abcdefghij no")]) };
        assert_eq!(read(&failed), json!({ "error": "[REDACTED] no" }));
    }

    #[test]
    fn media_are_kept_as_files_and_links_name_their_reader() {
        let image = Piece::Image { data: "aGk=".to_owned(), mime_type: "image/png".to_owned() };
        let text = read(&given(vec![image]))["result"].as_str().unwrap().to_owned();
        let kept = std::path::Path::new(text.strip_prefix("MEDIA:").unwrap());
        assert_eq!(kept.extension().unwrap(), "png");
        let broken =
            Piece::Audio { data: "not base64".to_owned(), mime_type: "audio/wav".to_owned() };
        assert!(read(&given(vec![broken]))["result"].as_str().unwrap().contains("was not kept"));
        let link =
            Piece::ResourceLink { uri: "u://x".to_owned(), name: "n".to_owned(), mime_type: None };
        assert!(
            read(&given(vec![link]))["result"].as_str().unwrap().contains("mcp__s__read_resource")
        );
    }
}
