//! E10, E11: whoever is waited for, a cancel is heard within a second, nothing that may cost is
//! asked again, programs end with their tree, and no half file stays.

use std::future::Future;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use petasos_media::filming::{self, Film, film};
use petasos_media::hearing::HEARINGS;
use petasos_media::speaking::{SpeechAsk, Way, speak};
use petasos_media::speech::VOICES;
use petasos_media::transcribing::{Listens, Patience, transcribe};
use petasos_media::videos::FILMERS;
use petasos_media::{Media, MediaError, fetched, frames};
use petasos_net::Url;
use serde_json::{Value, json};

use crate::desk::Desk;
use crate::hearings::wave;

const KEY: &str = "sk-waiting-0123456789abcdef";

/// Somebody who takes a request and says nothing, and where they are.
fn silent() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    (listener, url)
}

/// Cancels as soon as somebody was asked.
async fn cancelled<T: std::fmt::Debug>(
    id: &str,
    listener: TcpListener,
    desk: &Desk,
    work: impl Future<Output = Result<T, MediaError>>,
) {
    let cancel = desk.cx.cancel.clone();
    let reached = tokio::task::spawn_blocking(move || {
        let taken = listener.accept().unwrap();
        (listener, taken)
    });
    let since = async {
        let kept = reached.await.unwrap();
        cancel.cancel();
        (Instant::now(), kept)
    };
    let (refused, (since, (listener, _taken))) = tokio::join!(work, since);
    assert_eq!(refused.unwrap_err().kind, "cancelled", "{id}");
    assert!(since.elapsed() < Duration::from_secs(1), "{id}: {:?}", since.elapsed());
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "{id} was asked again");
}

fn section(name: &str, id: &str, url: &str) -> Value {
    json!({ name: { "provider": id, id: { "base_url": url } } })
}

fn hello() -> SpeechAsk {
    SpeechAsk { text: "hello".to_owned(), voice_message: false }
}

#[tokio::test]
async fn e10_e11_a_cancel_is_heard_while_any_voice_is_waited_for() {
    for voice in VOICES {
        let Way::Cloud { vendor, .. } = &voice.way else { continue };
        let (listener, url) = silent();
        let desk = Desk::with(&section("tts", voice.id, &url), &[(vendor.keys[0], KEY)]);
        let ask = hello();
        let work = speak(&ask, desk.processes.as_ref(), &desk.cx);
        cancelled(voice.id, listener, &desk, work).await;
        assert_eq!(desk.kept(), 0, "{}", voice.id);
    }
}

#[tokio::test]
async fn e10_a_cancel_is_heard_while_any_recogniser_is_waited_for() {
    for hearing in HEARINGS {
        let Listens::Cloud { vendor, .. } = &hearing.way else { continue };
        let (listener, url) = silent();
        let desk = Desk::with(&section("stt", hearing.id, &url), &[(vendor.keys[0], KEY)]);
        let file = desk.file("a.wav", &wave());
        let work = transcribe(&file, Patience::USUAL, desk.processes.as_ref(), &desk.cx);
        cancelled(hearing.id, listener, &desk, work).await;
        assert_eq!(desk.kept(), 0, "{}", hearing.id);
    }
}

#[tokio::test]
async fn e10_e11_a_cancel_is_heard_while_any_filmer_is_waited_for() {
    for def in FILMERS {
        let id = def.vendor.id;
        let (listener, url) = silent();
        let desk = Desk::with(&section("video_gen", id, &url), &[(def.vendor.keys[0], KEY)]);
        let filmer = filming::choose(&desk.cx.settings).chosen.unwrap();
        let ask = Film {
            prompt: "a kite rises".to_owned(),
            aspect_ratio: "16:9".to_owned(),
            resolution: "720p".to_owned(),
            ..Film::default()
        };
        let media = Media::default();
        let work = film(&filmer, &ask, (&media, None), &desk.cx);
        cancelled(id, listener, &desk, work).await;
    }
}

#[tokio::test]
async fn e10_a_cancel_is_heard_while_a_source_is_fetched() {
    let (listener, url) = silent();
    let desk = Desk::with(&json!({ "security": { "allow_private_urls": true } }), &[]);
    let url = Url::parse(&format!("{url}/a.png")).unwrap();
    let work = fetched(&url, 1 << 20, &desk.cx);
    cancelled("a source", listener, &desk, work).await;
}

/// Cancels as soon as a program of the test has said who it is; its tree ends.
async fn ended_tree<T: std::fmt::Debug>(
    name: &str,
    desk: &Desk,
    work: impl Future<Output = Result<T, MediaError>>,
) {
    let pids = desk.cx.workspace.join("pids");
    let cancel = desk.cx.cancel.clone();
    let begun = async {
        let told = loop {
            let told = std::fs::read_to_string(&pids).unwrap_or_default();
            if told.ends_with("all\n") {
                break told;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        };
        cancel.cancel();
        (Instant::now(), told)
    };
    let (refused, (since, told)) = tokio::join!(work, begun);
    assert_eq!(refused.unwrap_err().kind, "cancelled", "{name}");
    assert!(since.elapsed() < Duration::from_secs(1), "{name}: {:?}", since.elapsed());
    assert_eq!(desk.kept(), 0, "{name}: a half file stays");
    for pid in told.split_whitespace().filter_map(|word| word.parse::<u32>().ok()) {
        let there = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let until = Instant::now() + Duration::from_secs(20);
        while !there().is_empty() && !there().contains(") Z ") {
            assert!(Instant::now() < until, "{name}: {pid} is still there");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Writes down itself and a child, and never ends.
const HANGS: &str = "sleep 777 & echo $$ $! all > pids; wait";

#[tokio::test]
async fn e10_programs_that_speak_hear_and_record_end_with_their_tree() {
    let own = |command: &str| json!({ "mine": { "type": "command", "command": command } });
    let speaks = format!("echo half > {{output_path}}; {HANGS}");
    let desk =
        Desk::with(&json!({ "tts": { "provider": "mine", "providers": own(&speaks) } }), &[]);
    let ask = hello();
    ended_tree("a voice", &desk, speak(&ask, desk.processes.as_ref(), &desk.cx)).await;
    let hears =
        format!("echo half > {{output_path}}; test -s {{input_path}} && {{{{ {HANGS}; }}}}");
    let desk = Desk::with(&json!({ "stt": { "provider": "mine", "providers": own(&hears) } }), &[]);
    let file = desk.file("a.wav", &wave());
    let work = transcribe(&file, Patience::USUAL, desk.processes.as_ref(), &desk.cx);
    ended_tree("a recogniser", &desk, work).await;
    let records = format!("echo half > {{output_path}}; {HANGS}");
    let desk = Desk::with(&json!({ "voice": { "record_command": records } }), &[]);
    let work = petasos_media::recording::record(5, desk.processes.as_ref(), &desk.cx);
    ended_tree("a recorder", &desk, work).await;
}

#[tokio::test]
async fn e10_a_conversion_and_a_look_at_a_film_end_with_their_tree() {
    let espeak = "for last; do :; done; printf 'RIFF\\044\\0\\0\\0WAVEfmt ' > \"$last\"; \
        cat > /dev/null";
    let converts = format!("for last; do :; done; echo half > \"$last\"; {HANGS}");
    let programs = [("mine", espeak), ("ffmpeg", converts.as_str()), ("ffprobe", HANGS)];
    let tts = json!({ "provider": "mine", "providers": { "mine": { "type": "command",
        "command": "mine {output_path}", "output_format": "wav" } } });
    let desk = Desk::equipped(&programs, &json!({ "tts": tts }));
    let ask = SpeechAsk { voice_message: true, ..hello() };
    ended_tree("a conversion", &desk, speak(&ask, desk.processes.as_ref(), &desk.cx)).await;
    let desk = Desk::equipped(&programs, &json!({}));
    let film = b"\0\0\0\x18ftypisom\0\0\0\0isommp42";
    let work = frames::frames(film, desk.processes.as_ref(), &desk.cx);
    ended_tree("a film", &desk, work).await;
    let folder = desk.cx.settings.home().join("cache/videos");
    assert_eq!(std::fs::read_dir(folder).map_or(0, Iterator::count), 0);
}
