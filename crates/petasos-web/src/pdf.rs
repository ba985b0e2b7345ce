//! PDF as text, page by page, within a time and off the runtime: such files are often hostile.

use std::time::{Duration, Instant};

use petasos_contract::wait;

use crate::fault::WebError;

const PAGES_MAX: usize = 200;
const TIME_MAX: Duration = Duration::from_secs(30);
const STREAM_BYTES_MAX: usize = 50 << 20;
/// Pages with less text are pictures of text.
const CHARS_A_PAGE_MIN: usize = 20;

/// The text of a PDF.
pub(crate) async fn read(bytes: Vec<u8>) -> Result<String, WebError> {
    let work = tokio::task::spawn_blocking(move || text(&bytes));
    match wait::until(Instant::now() + TIME_MAX, "a PDF to be read", work).await {
        Ok(Ok(read)) => read,
        Ok(Err(_)) => Err(WebError::new("upstream", "the PDF is broken: reading it failed")),
        Err(_) => Err(WebError::new("timeout", "the PDF took longer than 30 s to read")),
    }
}

fn text(bytes: &[u8]) -> Result<String, WebError> {
    let broken =
        |error: lopdf::Error| WebError::new("upstream", format!("the PDF is broken: {error}"));
    let document = lopdf::Document::load_mem(bytes).map_err(broken)?;
    // Its own answer overlooks a lock that is written into the trailer.
    if document.is_encrypted() || document.trailer.get(b"Encrypt").is_ok() {
        return Err(WebError::new("unsupported", "the PDF is encrypted; it cannot be read here"));
    }
    let numbers: Vec<u32> = document.get_pages().keys().copied().collect();
    let (mut parts, mut chars) = (Vec::new(), 0);
    for number in numbers.iter().take(PAGES_MAX) {
        let page =
            document.extract_text_with_limit(&[*number], STREAM_BYTES_MAX).unwrap_or_default();
        let lines: Vec<String> = page
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .filter(|line| !line.is_empty())
            .collect();
        let page = lines.join("\n");
        chars += page.chars().count();
        parts.push(format!("## Page {number}\n\n{page}"));
    }
    if chars < CHARS_A_PAGE_MIN * parts.len().max(1) {
        return Err(WebError::new("no_result", "the PDF holds no text: it seems to be scanned")
            .with("hint", "vision_analyze can read pictures of pages"));
    }
    if numbers.len() > PAGES_MAX {
        parts.push(format!("…and {} more pages", numbers.len() - PAGES_MAX));
    }
    Ok(parts.join("\n\n"))
}
