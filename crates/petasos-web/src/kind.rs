//! What came: the declared type, corrected by the first bytes.

/// What a reply holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Html,
    Feed,
    Sitemap,
    Json,
    Csv,
    Pdf,
    Text,
    /// Something that is no text.
    Media,
}

/// Judges by both.
pub(crate) fn of(declared: &str, bytes: &[u8]) -> Kind {
    let head = bytes.get(..bytes.len().min(1024)).unwrap_or_default();
    if head.starts_with(b"%PDF-") {
        return Kind::Pdf;
    }
    let text = String::from_utf8_lossy(head).to_ascii_lowercase();
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let declared = declared.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let has = |tag: &str| text.contains(tag);
    if has("<rss") || has("<feed") || has("<rdf:rdf") {
        return Kind::Feed;
    }
    if has("<urlset") || has("<sitemapindex") {
        return Kind::Sitemap;
    }
    let is_html =
        text.starts_with("<!doctype html") || has("<html") || has("<body") || has("<head");
    match declared.as_str() {
        "application/json" | "application/feed+json" | "application/ld+json" => Kind::Json,
        "text/csv" => Kind::Csv,
        "application/pdf" => Kind::Pdf,
        "text/html" | "application/xhtml+xml" => Kind::Html,
        _ if declared.ends_with("+json") => Kind::Json,
        "image/svg+xml" => Kind::Media,
        _ if ["image/", "audio/", "video/", "font/"]
            .iter()
            .any(|start| declared.starts_with(start)) =>
        {
            Kind::Media
        }
        _ if is_html => Kind::Html,
        _ if head.contains(&0)
            && !head.starts_with(&[0xff, 0xfe])
            && !head.starts_with(&[0xfe, 0xff]) =>
        {
            Kind::Media
        }
        "" if text.starts_with('{') || text.starts_with('[') => Kind::Json,
        "application/zip"
        | "application/gzip"
        | "application/x-tar"
        | "application/octet-stream"
            if std::str::from_utf8(head).is_err() =>
        {
            Kind::Media
        }
        _ => Kind::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_correct_the_declared_type() {
        let table: &[(&str, &[u8], Kind)] = &[
            ("text/html", b"%PDF-1.4 ...", Kind::Pdf),
            ("text/plain", b"<!DOCTYPE html><p>", Kind::Html),
            ("text/xml", b"<?xml version='1.0'?><rss>", Kind::Feed),
            ("text/xml", b"<?xml?><urlset>", Kind::Sitemap),
            ("application/json", b"{}", Kind::Json),
            ("text/csv; charset=utf-8", b"a,b", Kind::Csv),
            ("image/png", b"\x89PNG", Kind::Media),
            ("application/octet-stream", b"\x00\x01", Kind::Media),
            ("text/markdown", b"# Hi", Kind::Text),
        ];
        for (declared, bytes, wanted) in table {
            assert_eq!(of(declared, bytes), *wanted, "{declared}");
        }
    }
}
