//! Speech for real: espeak-ng and Piper speak, and a recogniser with a model of its own writes down
//! the same words. Piper's voice is cut from espeak-ng's: no package registry carries a trained one.

use std::path::Path;

use petasos_media::speaking::{SpeechAsk, speak};
use petasos_media::transcribing::{Patience, transcribe};
use petasos_media::{inline, recording};
use serde_json::{Value, json};

use crate::desk::Desk;
use crate::painters::png;

/// What the service printed.
fn service(test: &str, name: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "services of a test run are told by variables")]
    let told = std::env::var(format!("PETASOS_TEST_SPEECH_{name}")).ok();
    if told.is_none() {
        petasos_testkit::skip(test, "speech", "the service was not started");
    }
    told
}

/// A desk whose recogniser is Moonshine, as a command of one's own.
fn hearing(test: &str, more: Value) -> Option<Desk> {
    hearing_with(test, more, &[])
}

fn hearing_with(test: &str, more: Value, variables: &[(&str, &str)]) -> Option<Desk> {
    let (python, script) = (service(test, "SPEECH_PYTHON")?, service(test, "SPEECH_HEAR")?);
    let mut settings = more;
    settings["stt"] = json!({ "provider": "moonshine", "providers": { "moonshine": {
        "type": "command", "command": format!("{python} {script} {{input_path}}") } } });
    Some(Desk::with(&settings, variables))
}

/// Words alone, as two texts are compared.
fn words(text: &str) -> String {
    let letters = text.to_lowercase().replace(|sign: char| !sign.is_alphanumeric(), " ");
    letters.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn e131_e136_what_espeak_says_is_heard_word_for_word() {
    let test = "e131_e136_what_espeak_says_is_heard_word_for_word";
    let voice = json!({ "tts": { "provider": "espeak",
        "espeak": { "voice": "en-us", "speed": 0.8 } } });
    let Some(desk) = hearing(test, voice) else { return };
    for text in [
        "What is the weather in Berlin today?",
        "Open the window and close the door.",
        "One two three four five six seven.",
    ] {
        let ask = SpeechAsk { text: text.to_owned(), voice_message: false };
        let speech = speak(&ask, desk.processes.as_ref(), &desk.cx).await.unwrap();
        let heard =
            transcribe(&speech.path, Patience::USUAL, desk.processes.as_ref(), &desk.cx).await;
        let heard = heard.unwrap();
        assert_eq!(words(&heard.transcript), words(text));
        assert_eq!(heard.provider, "moonshine");
    }
}

#[tokio::test]
async fn e131_a_voice_message_in_opus_is_heard_word_for_word() {
    let voice = json!({ "tts": { "provider": "espeak",
        "espeak": { "voice": "en-us", "speed": 0.8 } } });
    let Some(desk) = hearing("e131_a_voice_message_in_opus_is_heard_word_for_word", voice) else {
        return;
    };
    let text = "Open the window and close the door.";
    let ask = SpeechAsk { text: text.to_owned(), voice_message: true };
    let speech = speak(&ask, desk.processes.as_ref(), &desk.cx).await.unwrap();
    assert!(speech.voice_compatible, "{speech:?}");
    let heard =
        transcribe(&speech.path, Patience::USUAL, desk.processes.as_ref(), &desk.cx).await.unwrap();
    assert_eq!(words(&heard.transcript), words(text));
}

#[tokio::test]
async fn e134_what_the_real_piper_says_is_heard_word_for_word() {
    let test = "e134_what_the_real_piper_says_is_heard_word_for_word";
    let (Some(piper), Some(voice)) = (service(test, "SPEECH_PIPER"), service(test, "SPEECH_VOICE"))
    else {
        return;
    };
    let folder = Path::new(&piper).parent().unwrap().to_str().unwrap();
    let settings = json!({ "tts": { "piper": { "model": voice } } });
    let path = format!("{folder}:/usr/bin:/bin");
    let Some(desk) = hearing_with(test, settings, &[("PATH", &path)]) else { return };
    for text in ["What is the weather in Berlin today?", "Open the window and close the door."] {
        let ask = SpeechAsk { text: text.to_owned(), voice_message: false };
        let speech = speak(&ask, desk.processes.as_ref(), &desk.cx).await.unwrap();
        // Unset, it comes before espeak-ng.
        assert_eq!(speech.provider, "piper");
        let bytes = std::fs::read(&speech.path).unwrap();
        assert_eq!(&bytes[24..28], &22_050_u32.to_le_bytes());
        assert!(speech.seconds.unwrap() > 0.5, "{speech:?}");
        let heard =
            transcribe(&speech.path, Patience::USUAL, desk.processes.as_ref(), &desk.cx).await;
        assert_eq!(words(&heard.unwrap().transcript), words(text));
    }
}

#[tokio::test]
async fn what_is_said_into_a_microphone_is_heard() {
    let voice = json!({ "tts": { "provider": "espeak",
        "espeak": { "voice": "en-us", "speed": 0.8 } } });
    let Some(speaker) = hearing("what_is_said_into_a_microphone_is_heard", voice) else { return };
    let text = "What is the weather in Berlin today?";
    let ask = SpeechAsk { text: text.to_owned(), voice_message: false };
    let spoken = speak(&ask, speaker.processes.as_ref(), &speaker.cx).await.unwrap();
    // The recorder's double copies a file and takes the length that it is asked for.
    let command =
        format!("test {{seconds}} = 4 && cp \"{}\" {{output_path}}", spoken.path.display());
    let desk = hearing(
        "what_is_said_into_a_microphone_is_heard",
        json!({ "voice": { "record_command": command } }),
    )
    .unwrap();
    let file = recording::record(4, desk.processes.as_ref(), &desk.cx).await.unwrap();
    let heard =
        transcribe(&file, Patience::USUAL, desk.processes.as_ref(), &desk.cx).await.unwrap();
    assert_eq!(words(&heard.transcript), words(text));
}

#[tokio::test]
async fn a_recorder_that_is_not_there_or_records_nothing_says_so() {
    let bare = Desk::with(&json!({}), &[("PATH", "/nowhere")]);
    let missing = recording::record(1, bare.processes.as_ref(), &bare.cx).await.unwrap_err();
    assert_eq!((missing.kind, missing.message.as_str()), ("missing_setup", recording::NEEDS));
    let silent = Desk::with(&json!({ "voice": { "record_command": "true" } }), &[]);
    let nothing = recording::record(1, silent.processes.as_ref(), &silent.cx).await.unwrap_err();
    assert_eq!((nothing.kind, silent.kept()), ("no_result", 0));
    // Programs are given what they understand; this one writes down its words.
    let script = "for last; do :; done; printf '%s ' \"$@\" > \"$0.words\"; \
        printf 'RIFF\\044\\0\\0\\0WAVEfmt ' > \"$last\"";
    let desk = Desk::equipped(&[("arecord", script)], &json!({}));
    let file = recording::record(5, desk.processes.as_ref(), &desk.cx).await.unwrap();
    let path = desk.cx.settings.variable("PATH").unwrap().value.expose().to_owned();
    let bin = path.split(':').next().unwrap();
    let said = std::fs::read_to_string(format!("{bin}/arecord.words")).unwrap();
    assert_eq!(said.trim(), format!("-q -f S16_LE -r 16000 -c 1 -d 5 {}", file.display()));
}

fn told(values: &Value, variables: &[(&str, &str)]) -> Option<inline::Protocol> {
    inline::protocol(&Desk::with(values, variables).cx.settings)
}

#[tokio::test]
async fn a_terminal_is_known_by_its_variables_and_a_setting_wins() {
    use inline::Protocol::{Iterm, Kitty, Sixel};
    let none = json!({});
    for (variables, protocol) in [
        (&[("TERM", "xterm-kitty")][..], Some(Kitty)),
        (&[("TERM", "xterm-256color"), ("KITTY_WINDOW_ID", "1")], Some(Kitty)),
        (&[("TERM", "xterm-ghostty")], Some(Kitty)),
        (&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "iTerm.app")], Some(Iterm)),
        (&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "WezTerm")], Some(Iterm)),
        (&[("TERM", "foot")], Some(Sixel)),
        (&[("TERM", "xterm-256color")], None),
        (&[("TERM", "xterm-kitty"), ("TMUX", "/tmp/x")], None),
        (&[("TERM", "dumb"), ("KITTY_WINDOW_ID", "1")], None),
        (&[("TERM", "tmux-256color"), ("KITTY_WINDOW_ID", "1")], None),
    ] {
        assert_eq!(told(&none, variables), protocol, "{variables:?}");
    }
    let set = |word: &str| json!({ "display": { "inline_images": word } });
    assert_eq!(told(&set("sixel"), &[("TERM", "xterm")]), Some(Sixel));
    assert_eq!(told(&set("off"), &[("TERM", "xterm-kitty")]), None);
}

#[tokio::test]
async fn a_picture_is_written_as_each_terminal_takes_it() {
    let desk = Desk::with(&json!({}), &[]);
    let file = desk.file("a.png", &png());
    let shown = |protocol| inline::shown(&file, protocol, (80, 24)).unwrap();
    let kitty = shown(inline::Protocol::Kitty);
    assert!(kitty.starts_with("\u{1b}_Ga=T,f=100,q=2,c=1,r=1,m=0;iVBOR"), "{kitty}");
    assert!(kitty.ends_with("\u{1b}\\"), "{kitty}");
    let iterm = shown(inline::Protocol::Iterm);
    assert!(iterm.starts_with("\u{1b}]1337;File=inline=1;") && iterm.ends_with('\u{7}'));
    let sixel = shown(inline::Protocol::Sixel);
    assert!(sixel.starts_with("\u{1b}Pq\"1;1;") && sixel.ends_with("\u{1b}\\"), "{sixel}");
    // A large one is cut into pieces, and fits the window.
    let mut large = image::RgbImage::new(3000, 2000);
    for (x, y, pixel) in large.enumerate_pixels_mut() {
        let shade = u8::try_from((x * 7 + y * 13) % 251).unwrap();
        *pixel = image::Rgb([shade, 255 - shade, shade / 2]);
    }
    let mut bytes = std::io::Cursor::new(Vec::new());
    large.write_to(&mut bytes, image::ImageFormat::Png).unwrap();
    let file = desk.file("large.png", &bytes.into_inner());
    let kitty = inline::shown(&file, inline::Protocol::Kitty, (80, 24)).unwrap();
    assert!(kitty.contains("m=1;") && kitty.matches("\u{1b}_G").count() > 2);
    let head = kitty.split(';').next().unwrap();
    let rows: u32 = head.split("r=").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
    assert!(rows <= 16, "{head}");
    let bad = desk.file("no.png", b"<html>");
    assert!(inline::shown(&bad, inline::Protocol::Kitty, (80, 24)).is_err());
}
