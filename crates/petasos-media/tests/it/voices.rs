//! Voices: espeak-ng really speaks, commands get their words, vendors are asked as they publish.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use base64::Engine as _;
use petasos_media::MediaError;
use petasos_media::speaking::{Speech, SpeechAsk, choose, speak};
use serde_json::{Value, json};

use crate::desk::{Desk, Double, Given};

const KEY: &str = "sk-voice-0123456789abcdef";

fn ask(text: &str, voice_message: bool) -> SpeechAsk {
    SpeechAsk { text: text.to_owned(), voice_message }
}

async fn said(desk: &Desk, ask: &SpeechAsk) -> Result<Speech, MediaError> {
    speak(ask, desk.processes.as_ref(), &desk.cx).await
}

fn is_there(test: &str, program: &str) -> bool {
    let found = std::path::Path::new("/usr/bin").join(program).is_file();
    if !found {
        petasos_testkit::skip(test, program, "the program is not installed");
    }
    found
}

/// A beginning of an MP3 file.
fn mp3() -> Vec<u8> {
    [b"ID3\x04\0\0\0\0\0\0".as_slice(), &[0xff, 0xfb, 0x90, 0x44], &[0; 400]].concat()
}

#[tokio::test]
async fn e131_espeak_really_speaks_and_a_long_text_is_cut_at_a_sentence() {
    if !is_there("e131_espeak_really_speaks_and_a_long_text_is_cut_at_a_sentence", "espeak-ng") {
        return;
    }
    let desk = Desk::with(&json!({}), &[]);
    let text = "The quick brown fox jumps over the lazy dog. It does so every day.";
    let speech = said(&desk, &ask(text, false)).await.unwrap();
    assert_eq!(speech.provider, "espeak");
    let bytes = std::fs::read(&speech.path).unwrap();
    assert_eq!(&bytes[24..28], &22_050_u32.to_le_bytes(), "22 050 Hz");
    // About 175 words a minute: thirteen words are four or five seconds.
    let seconds = speech.seconds.unwrap();
    assert!((3.5..7.0).contains(&seconds), "{seconds}");
    let loudest =
        bytes[44..].chunks_exact(2).map(|two| i16::from_le_bytes([two[0], two[1]]).unsigned_abs());
    assert!(loudest.max().unwrap() > 3_000, "it is silent");
    assert_eq!(std::fs::metadata(&speech.path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(desk.kept(), 1, "the text for the program is gone");
    let short = Desk::with(&json!({ "tts": { "espeak": { "max_text_length": 30 } } }), &[]);
    let speech =
        said(&short, &ask("One is here. Two is there. Three is nowhere.", false)).await.unwrap();
    assert_eq!((speech.chars, speech.of), (26, Some(44)));
}

#[tokio::test]
async fn e133_opus_only_where_it_is_wanted_and_without_ffmpeg_that_is_told() {
    let name = "e133_opus_only_where_it_is_wanted_and_without_ffmpeg_that_is_told";
    if !is_there(name, "espeak-ng") || !is_there(name, "ffmpeg") {
        return;
    }
    let desk = Desk::with(&json!({}), &[]);
    let plain = said(&desk, &ask("Good morning.", false)).await.unwrap();
    assert!(!plain.voice_compatible && plain.path.extension().unwrap() == "wav");
    let voice = said(&desk, &ask("Good morning.", true)).await.unwrap();
    assert!(voice.voice_compatible && voice.note.is_none(), "{voice:?}");
    assert!(std::fs::read(&voice.path).unwrap().starts_with(b"OggS"));
    assert!((0.4..3.0).contains(&voice.seconds.unwrap()), "{voice:?}");
    // A search path that has espeak-ng and no ffmpeg.
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/usr/bin/espeak-ng", folder.path().join("espeak-ng")).unwrap();
    let bare = Desk::with(&json!({}), &[("PATH", folder.path().to_str().unwrap())]);
    let file = said(&bare, &ask("Good morning.", true)).await.unwrap();
    assert!(!file.voice_compatible && file.note.unwrap().contains("ffmpeg"), "{:?}", file.path);
}

#[tokio::test]
async fn e132_a_command_of_ones_own_gets_paths_with_spaces_and_quotes() {
    let wav = "printf 'RIFF\\044\\0\\0\\0WAVEfmt \\020\\0\\0\\0\\001\\0\\001\\0\\300\\135\\0\\0\\300\\135\\0\\0\\002\\0\\020\\0data\\0\\0\\0\\0'";
    let settings = json!({ "tts": { "provider": "mine", "providers": { "mine": {
        "type": "command", "output_format": "wav", "voice": "a b",
        "command": format!("grep -q hello {{text_path}} && test \"{{voice}}\" = 'a b' && {wav} > \"{{output_path}}\""),
    } } } });
    let desk = Desk::with(&settings, &[]);
    let speech = said(&desk, &ask("hello there", false)).await.unwrap();
    assert_eq!(speech.provider, "mine");
    assert!(speech.path.to_str().unwrap().contains("a 'home'"));
    // One that hangs ends in time, with its tree and without a file.
    let settings = json!({ "tts": { "provider": "slow", "providers": { "slow": {
        "type": "command", "timeout": 1, "command": "sleep 60 | cat > {output_path}",
    } } } });
    let desk = Desk::with(&settings, &[]);
    let begun = std::time::Instant::now();
    let late = said(&desk, &ask("hello", false)).await.unwrap_err();
    assert_eq!(late.kind, "timeout");
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert_eq!(desk.kept(), 0, "a partial file is left");
}

#[tokio::test]
async fn e134_another_program_called_piper_is_not_taken() {
    let settings = json!({ "tts": { "provider": "piper", "piper": { "model": "/etc/hostname" } } });
    let mouse = Desk::equipped(&[("piper", "echo 'Configure your gaming mouse'")], &settings);
    let refused = said(&mouse, &ask("hello", false)).await.unwrap_err();
    assert_eq!(refused.kind, "missing_setup");
    assert!(refused.message.contains("another"), "{refused}");
    let real = "case $1 in --help) echo 'usage: piper [--model M]';; *) cat > /dev/null; \
        printf 'RIFF\\044\\0\\0\\0WAVEfmt \\020\\0\\0\\0' > \"$4\";; esac";
    let real = Desk::equipped(&[("piper", real)], &settings);
    assert_eq!(said(&real, &ask("hello", false)).await.unwrap().provider, "piper");
}

#[tokio::test]
async fn e6_a_key_for_chat_is_no_consent_to_pay_and_a_named_voice_stays_alone() {
    let nowhere = [("PATH", "/nowhere"), ("OPENAI_API_KEY", KEY), ("ELEVENLABS_API_KEY", KEY)];
    let desk = Desk::with(&json!({}), &nowhere);
    let why = choose(&desk.cx.settings).chosen.unwrap_err();
    assert_eq!(why, "needs a voice: install espeak-ng or piper, or set tts.provider");
    let desk = Desk::with(&json!({ "tts": { "provider": "gemini" } }), &[]);
    let missing = said(&desk, &ask("hello", false)).await.unwrap_err();
    assert_eq!(missing.kind, "missing_setup");
    assert!(missing.message.contains("GEMINI_API_KEY"), "{missing}");
}

/// A vendor, its key, the header that carries it, its path, and an answer with speech inside.
struct Vendor {
    id: &'static str,
    variable: &'static str,
    header: &'static str,
    path: &'static str,
    field: &'static str,
    answer: Given,
}

fn vendors() -> Vec<Vendor> {
    let base64 = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
    let mut hex = String::new();
    for byte in mp3() {
        write!(hex, "{byte:02x}").unwrap();
    }
    let kind = "audio/L16;rate=24000";
    let parts = json!([{ "inlineData": { "mimeType": kind, "data": base64(&[1; 480]) } }]);
    let gemini = json!({ "candidates": [{ "content": { "parts": parts } }] });
    let mistral = json!({ "audio_data": base64(&mp3()) });
    let minimax = json!({ "data": { "audio": hex, "status": 2 }, "trace_id": "01b8",
        "extra_info": { "audio_length": 24, "audio_format": "mp3", "usage_characters": 13 },
        "base_resp": { "status_code": 0, "status_msg": "success" } });
    let bare = || (200, "audio/mpeg", mp3());
    let told = |value: Value| (200, "application/json", value.to_string().into_bytes());
    let bearer = "authorization: bearer";
    let voice = "/text-to-speech/pNInz6obpgDQGcFmaJgB?output_format=mp3_44100_128";
    let model = "/models/gemini-2.5-flash-preview-tts:generateContent";
    [
        ("openai", "OPENAI_API_KEY", bearer, "/audio/speech", "input", bare()),
        ("deepinfra", "DEEPINFRA_API_KEY", bearer, "/audio/speech", "input", bare()),
        ("elevenlabs", "ELEVENLABS_API_KEY", "xi-api-key:", voice, "text", bare()),
        ("xai", "XAI_API_KEY", bearer, "/tts", "text", bare()),
        ("gemini", "GEMINI_API_KEY", "x-goog-api-key:", model, "contents", told(gemini)),
        ("mistral", "MISTRAL_API_KEY", bearer, "/audio/speech", "input", told(mistral)),
        ("minimax", "MINIMAX_API_KEY", bearer, "/t2a_v2", "text", told(minimax)),
    ]
    .map(|(id, variable, header, path, field, answer)| Vendor {
        id,
        variable,
        header,
        path,
        field,
        answer,
    })
    .into()
}

fn desk(vendor: &Vendor, double: &Double) -> Desk {
    let id = vendor.id;
    let settings = json!({ "tts": { "provider": id, id: { "base_url": double.url } } });
    Desk::with(&settings, &[(vendor.variable, KEY)])
}

#[tokio::test]
async fn each_vendor_is_asked_as_it_publishes_and_its_answer_is_a_file() {
    for vendor in vendors() {
        let id = vendor.id;
        let double = Double::giving(vec![vendor.answer.clone()]);
        let speech = said(&desk(&vendor, &double), &ask("Hello, *world*.", false)).await;
        let (speech, asked) = (speech.unwrap(), double.asked());
        assert_eq!((speech.provider.as_str(), asked.len()), (id, 1));
        assert_eq!(asked[0].line, format!("POST {} HTTP/1.1", vendor.path), "{id}");
        let head = asked[0].head.to_lowercase();
        assert!(head.contains(vendor.header) && head.contains(KEY), "{id}: {head}");
        let body: Value = serde_json::from_slice(&asked[0].body).unwrap();
        assert!(body[vendor.field].to_string().contains("Hello, world."), "{id}: {body}");
        assert!(!body.to_string().contains(KEY), "{id}");
    }
}

#[tokio::test]
async fn a_vendors_refusal_has_its_word_and_is_not_asked_again() {
    for vendor in vendors() {
        let id = vendor.id;
        let refusals = [
            (401, "auth"),
            (402, "quota"),
            (429, "rate_limited"),
            (500, "upstream"),
            (200, "upstream"),
        ];
        for (status, kind) in refusals {
            let answer = (status, "text/html", b"<html>sorry</html>".to_vec());
            let double = Double::giving(vec![answer]);
            let desk = desk(&vendor, &double);
            let refused = said(&desk, &ask("Hello.", false)).await.unwrap_err();
            assert_eq!(refused.kind, kind, "{id} {status}");
            assert_eq!(double.asked().len(), 1, "{id}: what may cost is asked once");
            assert_eq!(desk.kept(), 0, "{id}");
        }
    }
}

/// Voices that are Python packages, by stand-ins with their published signatures: the weights of the
/// real ones are not to be had here.
#[tokio::test]
async fn voices_of_python_packages_speak_offline_and_only_by_name() {
    let packages = tempfile::TempDir::new().unwrap();
    let soundfile = r#"import wave
def write(path, samples, rate):
    with wave.open(path, "wb") as out:
        out.setnchannels(1); out.setsampwidth(2); out.setframerate(rate); out.writeframes(samples)
"#;
    let kitten = r#"import os
class KittenTTS:
    def __init__(self, model_name="KittenML/kitten-tts-nano-0.1", cache_dir=None):
        assert os.environ["HF_HUB_OFFLINE"] == "1" and model_name == "KittenML/kitten-tts-nano-0.2"
    def generate(self, text, voice="expr-voice-5-m", speed=1.0):
        assert text == "Good morning." and voice == "expr-voice-2-f"
        return b"\0\0" * 24000
"#;
    let neu = r#"class NeuTTS:
    def __init__(self, backbone_repo="neuphonic/neutts-nano", backbone_device="cpu",
                 codec_repo="neuphonic/neucodec", codec_device="cpu", language=None, seed=None):
        print("Loading backbone from:", backbone_repo)
    def encode_reference(self, ref_audio_path): return [1, 2]
    def infer(self, text, ref_codes, ref_text):
        assert (text, ref_codes, ref_text) == ("Good morning.", [1, 2], "my own words")
        return b"\0\0" * 12000
"#;
    for (name, text) in [("soundfile.py", soundfile), ("kittentts.py", kitten), ("neutts.py", neu)]
    {
        crate::put(packages.path().join(name), text);
    }
    let voice = packages.path().join("me.wav");
    crate::put(&voice, "a recording");
    let path = packages.path().display().to_string();
    let kitten =
        json!({ "tts": { "provider": "kittentts", "kittentts": { "voice": "expr-voice-2-f" } } });
    let desk = Desk::with(&kitten, &[("PYTHONPATH", &path)]);
    let spoken = said(&desk, &ask("Good morning.", false)).await.unwrap();
    assert_eq!((spoken.provider.as_str(), spoken.seconds), ("kittentts", Some(1.0)));
    let neu = json!({ "tts": { "provider": "neutts", "neutts": { "voice": voice } } });
    let desk = Desk::with(&neu, &[("PYTHONPATH", &path)]);
    let lacks = said(&desk, &ask("Good morning.", false)).await.unwrap_err();
    assert!(lacks.kind == "missing_setup" && lacks.message.contains(".txt beside"), "{lacks}");
    crate::put(voice.with_extension("txt"), "my own words\n");
    let spoken = said(&desk, &ask("Good morning.", false)).await.unwrap();
    assert_eq!((spoken.provider.as_str(), spoken.seconds), ("neutts", Some(0.5)));
}
