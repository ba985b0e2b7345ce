//! Broken, cut, lying and endless answers: a typed error, and nothing earlier is lost.

use petasos_contract::model::{Delta, Finish};
use petasos_providers::mode::Wire;
use petasos_providers::transport::{self, DecodeError, Framing};
use petasos_providers::transports::TRANSPORTS;
use proptest::prelude::*;

use crate::golden::{decode, recordings, target};

fn text(deltas: &[Delta]) -> String {
    let pieces = deltas.iter().filter_map(|delta| match delta {
        Delta::Text { text } => Some(text.as_str()),
        _ => None,
    });
    pieces.collect()
}

#[test]
fn a_stream_that_ends_anywhere_keeps_what_was_told_and_runs_no_half_call() {
    for transport in TRANSPORTS {
        for recorded in recordings(transport) {
            for at in 0..recorded.bytes.len() {
                let (kept, _) = recorded.bytes.split_at(at);
                let (deltas, outcome) = decode(transport, &recorded, &[kept]);
                let told = text(&deltas);
                let place = format!("{} at {at}", recorded.path.display());
                match outcome {
                    Ok(reply) => {
                        assert!(reply.message.text().starts_with(&told), "{place}");
                        for call in &reply.message.tool_calls {
                            let parsed = serde_json::from_str::<serde_json::Value>(&call.arguments);
                            let cut = reply.finish == Finish::Length;
                            assert!(parsed.is_ok() || cut, "{place}: {}", call.arguments);
                        }
                    }
                    Err((_, rescued)) => {
                        assert!(rescued.message.text().starts_with(&told), "{place}: {told}");
                        assert_eq!(rescued.finish, Finish::Length, "{place}");
                        assert!(rescued.message.tool_calls.is_empty(), "{place}");
                    }
                }
            }
        }
    }
}

#[test]
fn an_answer_without_content_is_an_error() {
    for transport in TRANSPORTS {
        let framings = [Framing::Events, Framing::Whole, Framing::AmazonEvents];
        for framing in framings {
            let mut decoder = (transport.decoder)(&target(transport.wire), framing);
            let outcome = decoder.finish(&mut Vec::new());
            assert_eq!(outcome.err(), Some(DecodeError::Empty), "{} {framing:?}", transport.name);
        }
    }
}

#[test]
fn what_is_not_the_dialect_is_malformed_and_not_a_reply() {
    let junk = ["data: {]\n\n", "data: <html>\n\n", "data: 7\n\n", "data: []\n\n"];
    for transport in TRANSPORTS.iter().filter(|transport| transport.wire != Wire::BedrockConverse) {
        for junk in junk {
            let mut decoder = (transport.decoder)(&target(transport.wire), Framing::Events);
            let mut deltas = Vec::new();
            let pushed = decoder.push(junk.as_bytes(), &mut deltas);
            let outcome = pushed.and_then(|()| decoder.finish(&mut deltas).map(drop));
            assert!(outcome.is_err(), "{} took {junk}", transport.name);
        }
    }
}

#[test]
fn an_endless_event_and_an_endless_reply_are_refused() {
    let chat = transport::of(Wire::ChatCompletions).unwrap();
    let mut decoder = (chat.decoder)(&target(Wire::ChatCompletions), Framing::Events);
    let mut deltas = Vec::new();
    decoder
        .push(
            b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"kept\"}}]}\n\n",
            &mut deltas,
        )
        .unwrap();
    decoder.push(b"data: {\"x\":\"", &mut deltas).unwrap();
    let piece = vec![b'x'; 1 << 20];
    let refused = (0..64).find_map(|_| decoder.push(&piece, &mut deltas).err());
    assert!(matches!(refused, Some(DecodeError::TooLarge { .. })));
    assert_eq!(decoder.rescue().message.text(), "kept");

    let mut decoder = (chat.decoder)(&target(Wire::ChatCompletions), Framing::Events);
    let long = "y".repeat(1 << 20);
    let event =
        format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{long}\"}}}}]}}\n\n");
    let refused = (0..128).find_map(|_| {
        deltas.clear();
        decoder.push(event.as_bytes(), &mut deltas).err()
    });
    assert!(matches!(refused, Some(DecodeError::TooLarge { what: "bytes", .. })), "{refused:?}");
}

#[test]
fn a_server_cannot_ask_for_endless_calls_or_far_indexes() {
    let chat = transport::of(Wire::ChatCompletions).unwrap();
    let mut decoder = (chat.decoder)(&target(Wire::ChatCompletions), Framing::Events);
    let mut deltas = Vec::new();
    let refused = (0..10_000_u64).find_map(|index| {
        let far = u64::MAX - index;
        let event = format!("data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":{far},\"id\":\"c{index}\",\"function\":{{\"name\":\"a\",\"arguments\":\"{{}}\"}}}}]}}}}]}}\n\n");
        decoder.push(event.as_bytes(), &mut deltas).err()
    });
    assert_eq!(refused, Some(DecodeError::TooLarge { what: "calls", most: 512 }));
}

#[test]
fn a_frame_that_lies_about_itself_is_refused() {
    let bedrock = transport::of(Wire::BedrockConverse).unwrap();
    let recorded = recordings(bedrock).into_iter().find(|one| one.framing == Framing::AmazonEvents);
    let bytes = recorded.unwrap().bytes;
    for at in [0, 3, 5, 9, 20, 60] {
        let mut lying = bytes.clone();
        lying[at] ^= 0x55;
        let mut decoder = (bedrock.decoder)(&target(Wire::BedrockConverse), Framing::AmazonEvents);
        let mut deltas = Vec::new();
        let pushed = decoder.push(&lying, &mut deltas);
        let outcome = pushed.and_then(|()| decoder.finish(&mut deltas).map(drop));
        assert!(outcome.is_err(), "byte {at}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_damage_makes_a_decoder_panic_or_run_away(
        which in any::<prop::sample::Index>(),
        hits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let all: Vec<_> = TRANSPORTS.iter().flat_map(|t| recordings(t).into_iter().map(move |r| (*t, r))).collect();
        let (transport, recorded) = &all[which.index(all.len())];
        let mut bytes = recorded.bytes.clone();
        for (at, byte) in &hits {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
        places.sort_unstable();
        let mut pieces = Vec::new();
        let mut rest = bytes.as_slice();
        let mut taken = 0;
        for place in places {
            let (piece, left) = rest.split_at(place - taken);
            pieces.push(piece);
            rest = left;
            taken = place;
        }
        pieces.push(rest);
        let (deltas, outcome) = decode(transport, recorded, &pieces);
        if let Err((_, rescued)) = outcome {
            prop_assert!(rescued.message.text().starts_with(&text(&deltas)));
        }
    }
}
