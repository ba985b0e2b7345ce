//! Reading server-sent events, beside the cheapest thing that looks at every line.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use petasos_net::sse::{Event, Parser, SseError};

fn main() {
    divan::main();
}

/// A stream as chat servers send it: about 230 bytes an event.
fn stream() -> Vec<u8> {
    let event = "data: {\"id\":\"chatcmpl-123\",\"object\":\"chat.completion.chunk\",\"created\":1694268190,\"model\":\"gpt-4o-mini\",\"system_fingerprint\":\"fp_44709d6fcb\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n";
    event.repeat(40_000).into_bytes()
}

/// The size of a TLS record, which is how bytes arrive.
const PIECE: usize = 16 * 1024;

#[divan::bench]
fn events(bencher: Bencher) {
    let stream = stream();
    bencher.counter(BytesCount::of_slice(&stream)).bench(|| {
        let mut parser = Parser::new();
        let mut bytes = 0;
        for piece in stream.chunks(PIECE) {
            let read = parser.push(piece, |event: Event<'_>| -> Result<(), SseError> {
                bytes += event.data.len();
                Ok(())
            });
            assert!(read.is_ok());
        }
        black_box(bytes)
    });
}

#[divan::bench]
fn bare_line_split(bencher: Bencher) {
    let stream = stream();
    bencher.counter(BytesCount::of_slice(&stream)).bench(|| {
        let lines = black_box(&stream).split(|byte| *byte == b'\n');
        black_box(lines.map(<[u8]>::len).sum::<usize>())
    });
}
