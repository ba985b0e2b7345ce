//! Windows over texts of all shapes.

use std::io::{Cursor, Read, repeat};
use std::sync::Arc;
use std::time::Duration;

use petasos_contract::context::Surface;
use petasos_contract::{CallContext, SessionId, Settings};

use super::*;

const PAGE: Page = Page { first: 1, lines_max: 3, line_chars_max: 10, chars_max: 1000 };

fn context() -> CallContext {
    let settings = Arc::new(Settings::from_values(serde_json::Map::new()));
    CallContext::new(settings, Surface::Cli, SessionId::new("s"))
}

fn window(text: impl Read, page: Page) -> Window {
    let cx = context();
    read(text, page, &Watch::new(&cx, Duration::from_mins(1))).unwrap().unwrap()
}

#[test]
fn a_window_shows_the_lines_it_should() {
    for (text, page, content, total, full) in [
        ("", PAGE, "", 0, None),
        ("a", PAGE, "1|a", 1, None),
        ("a\n", PAGE, "1|a", 1, None),
        ("\n", PAGE, "1|", 1, None),
        ("a\r\nb\r\n", PAGE, "1|a\n2|b", 2, None),
        ("\u{feff}a\nb", PAGE, "1|a\n2|b", 2, None),
        ("a\nb\nc", PAGE, "1|a\n2|b\n3|c", 3, Some(Full::Lines)),
        ("a\nb\nc\nd\ne", PAGE, "1|a\n2|b\n3|c", 5, Some(Full::Lines)),
        ("a\nb\nc\nd\ne\n", Page { first: 4, ..PAGE }, "4|d\n5|e", 5, None),
        ("a\nb\n", Page { first: 9, ..PAGE }, "", 2, None),
        ("01234567890\nb", PAGE, "1|0123456789… [line cut]\n2|b", 2, None),
        (
            "aaaa\nbbbb\ncccc",
            Page { chars_max: 16, ..PAGE },
            "1|aaaa\n2|bbbb",
            3,
            Some(Full::Chars),
        ),
        ("aaaaaaaa\nb", Page { chars_max: 6, ..PAGE }, "1|aaaa… [line cut]", 2, Some(Full::Chars)),
    ] {
        let seen = window(Cursor::new(text), page);
        let seen = (seen.content.as_str(), seen.total_lines, seen.full);
        assert_eq!(seen, (content, total, full), "{text:?}");
    }
}

#[test]
fn lines_that_span_many_chunks_are_kept_only_as_far_as_shown() {
    let long = repeat(b'x').take(3 * CHUNK_BYTES as u64 + 7);
    let seen = window(long.chain(Cursor::new("\nend")), PAGE);
    assert_eq!(seen.content, "1|xxxxxxxxxx… [line cut]\n2|end");
    assert_eq!((seen.lines_cut, seen.total_bytes), (1, 3 * CHUNK_BYTES as u64 + 11));
}

#[test]
fn a_window_is_the_same_however_the_bytes_arrive() {
    struct Drip<'a>(&'a [u8]);
    impl Read for Drip<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let length = 1.min(self.0.len());
            self.0.read(&mut into[..length])
        }
    }
    let text = "é\r\n\r\nlong long long line\nzz".as_bytes();
    let (whole, dripped) = (window(Cursor::new(text), PAGE), window(Drip(text), PAGE));
    assert_eq!(whole.content, dripped.content);
    assert_eq!(whole.total_lines, dripped.total_lines);
}

#[test]
fn counting_stops_when_the_time_is_over_and_the_work_when_it_is_cancelled() {
    let cx = context();
    let endless = || Cursor::new("a\nb\n").chain(repeat(b'\n'));
    let late = read(endless(), PAGE, &Watch::new(&cx, Duration::ZERO)).unwrap().unwrap();
    assert_eq!((late.is_partial, late.content.as_str()), (true, "1|a\n2|b"));
    cx.cancel.cancel();
    let cancelled = read(endless(), PAGE, &Watch::new(&cx, Duration::from_mins(1))).unwrap();
    assert!(cancelled.is_none());
}
