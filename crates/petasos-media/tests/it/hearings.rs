//! Recognisers: commands, vendors as they publish, and a real one where it is installed.

use std::path::Path;
use std::time::{Duration, Instant};

use petasos_media::MediaError;
use petasos_media::transcribing::{Heard, Patience, ready, seconds, transcribe};
use serde_json::json;

use crate::desk::{Desk, Double};

const KEY: &str = "sk-ears-0123456789abcdef";

/// Half a second of silence.
pub(crate) fn wave() -> Vec<u8> {
    let mut bytes = b"RIFF\xa4\x3e\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x80\x3e\0\0\0\x7d\0\0\x02\0\x10\0data\x80\x3e\0\0".to_vec();
    bytes.extend([0; 16_000]);
    bytes
}

async fn heard(desk: &Desk, path: &Path) -> Result<Heard, MediaError> {
    transcribe(path, Patience::USUAL, desk.processes.as_ref(), &desk.cx).await
}

fn own(command: &str) -> serde_json::Value {
    json!({ "stt": { "provider": "mine", "providers": { "mine": {
        "type": "command", "command": command, "timeout": 2,
    } } } })
}

#[tokio::test]
async fn e136_a_command_hears_and_a_hung_one_ends_in_time() {
    let desk = Desk::with(&own("test -s {input_path} && echo ' hello   there '"), &[]);
    let path = desk.file("a voice.wav", &wave());
    assert_eq!(heard(&desk, &path).await.unwrap().transcript, "hello there");
    assert_eq!(desk.kept(), 0, "the converted copy is gone");
    let desk = Desk::with(&own("sleep 77 | cat"), &[]);
    let begun = Instant::now();
    let late = heard(&desk, &desk.file("a.wav", &wave())).await.unwrap_err();
    assert_eq!(late.kind, "timeout");
    assert!(begun.elapsed() < Duration::from_secs(20));
    let desk = Desk::with(&own("echo cannot >&2; exit 3"), &[]);
    let failed = heard(&desk, &desk.file("a.wav", &wave())).await.unwrap_err();
    assert_eq!(failed.kind, "upstream");
    assert_eq!(failed.extra["detail"], "cannot");
}

#[tokio::test]
async fn what_is_no_recording_starts_nothing() {
    let desk = Desk::with(&own("touch started"), &[]);
    for (name, bytes, kind) in [
        ("page.wav", b"<html></html>".to_vec(), "unsupported"),
        ("empty.ogg", Vec::new(), "unsupported"),
        ("picture.mp3", b"\x89PNG\r\n\x1a\n".to_vec(), "unsupported"),
        ("huge.wav", [wave(), vec![0; 26 << 20]].concat(), "too_large"),
    ] {
        let path = desk.file(name, &bytes);
        assert_eq!(heard(&desk, &path).await.unwrap_err().kind, kind, "{name}");
    }
    assert_eq!(heard(&desk, Path::new("/nowhere.wav")).await.unwrap_err().kind, "not_found");
    assert!(!desk.cx.workspace.join("started").exists());
    let off = Desk::with(&json!({ "stt": { "enabled": false } }), &[("GROQ_API_KEY", KEY)]);
    assert_eq!(ready(&off.cx.settings).unwrap_err(), "stt.enabled is false");
}

#[tokio::test]
async fn each_vendor_hears_the_file_and_its_text_comes_back() {
    for (id, variable, header, path, model) in [
        (
            "groq",
            "GROQ_API_KEY",
            "authorization: bearer",
            "/audio/transcriptions",
            "whisper-large-v3-turbo",
        ),
        ("openai", "OPENAI_API_KEY", "authorization: bearer", "/audio/transcriptions", "whisper-1"),
        (
            "mistral",
            "MISTRAL_API_KEY",
            "authorization: bearer",
            "/audio/transcriptions",
            "voxtral-mini-latest",
        ),
        (
            "deepinfra",
            "DEEPINFRA_API_KEY",
            "authorization: bearer",
            "/audio/transcriptions",
            "openai/whisper-large-v3-turbo",
        ),
        ("elevenlabs", "ELEVENLABS_API_KEY", "xi-api-key:", "/speech-to-text", "scribe_v2"),
        // It has one model, which need not be named.
        ("xai", "XAI_API_KEY", "authorization: bearer", "/stt", ""),
    ] {
        let word = json!({ "text": "good", "start": 0.1, "end": 0.4 });
        let answer = json!({ "text": "good morning", "language_code": "eng", "language": "",
            "duration": 1.2, "words": [word] });
        let answer = answer.to_string();
        let double = Double::giving(vec![(200, "application/json", answer.into_bytes())]);
        let section = json!({ "base_url": double.url, "language": "en" });
        let settings = json!({ "stt": { "provider": id, id: section } });
        let desk = Desk::with(&settings, &[(variable, KEY)]);
        let sound = desk.file("a.wav", &wave());
        let told = heard(&desk, &sound).await.expect(id);
        assert_eq!((told.transcript.as_str(), told.provider.as_str()), ("good morning", id));
        let asked = &double.asked()[0];
        assert_eq!(asked.line, format!("POST {path} HTTP/1.1"), "{id}");
        let head = asked.head.to_lowercase();
        assert!(head.contains(header) && head.contains("multipart/form-data"), "{id}: {head}");
        let body = String::from_utf8_lossy(&asked.body).into_owned();
        assert!(body.contains(model) && body.contains("name=\"file\""), "{id}");
        let (_, last) = body.rsplit_once("Content-Disposition").expect("a form");
        assert!(last.contains("name=\"file\""), "{id}: a vendor wants the file last");
        assert!(asked.body.windows(4).any(|word| word == b"WAVE") && !body.contains(KEY), "{id}");
        let double = Double::giving(vec![(429, "application/json", b"{}".to_vec())]);
        let settings = json!({ "stt": { "provider": id, id: { "base_url": double.url } } });
        let desk = Desk::with(&settings, &[(variable, KEY)]);
        let sound = desk.file("a.wav", &wave());
        assert_eq!(heard(&desk, &sound).await.unwrap_err().kind, "rate_limited", "{id}");
    }
}

#[tokio::test]
async fn a_command_of_an_older_home_listens_where_no_program_does() {
    let command = "test \"{language}\" = de && echo guten Tag < {input_path}";
    let variables = [
        ("HERMES_LOCAL_STT_COMMAND", command),
        ("HERMES_LOCAL_STT_LANGUAGE", "de"),
        ("GROQ_API_KEY", KEY),
    ];
    let desk = Desk::with(&json!({}), &variables);
    assert_eq!(ready(&desk.cx.settings).unwrap(), "local_command");
    let path = desk.file("a.wav", &wave());
    assert_eq!(heard(&desk, &path).await.unwrap().transcript, "guten Tag");
}

/// The package itself cannot be had without its weights: a stand-in with its published signature
/// shows that it is started as it wants to be, offline, and that its words come back.
#[tokio::test]
async fn faster_whisper_listens_where_its_model_is() {
    let packages = tempfile::TempDir::new().unwrap();
    let module = r#"class Segment:
    def __init__(self, text): self.text = text
class WhisperModel:
    def __init__(self, model_size_or_path, device="auto", device_index=0, compute_type="default",
                 cpu_threads=0, num_workers=1, download_root=None, local_files_only=False):
        assert local_files_only and open(model_size_or_path + "/model.bin").read() == "weights"
    def transcribe(self, audio, language=None):
        assert open(audio, "rb").read(4) == b"RIFF" and language == "de"
        return iter([Segment(" guten"), Segment(" Tag ")]), None
"#;
    crate::put(packages.path().join("faster_whisper.py"), module);
    let path = packages.path().display().to_string();
    let variables = [("PYTHONPATH", path.as_str()), ("GROQ_API_KEY", KEY)];
    let settings = json!({ "stt": { "local": { "language": "de" } } });
    let without = Desk::with(&settings, &variables);
    assert_eq!(ready(&without.cx.settings).unwrap(), "groq", "it has no model");
    let desk = Desk::with(&settings, &variables);
    let model = desk.cx.settings.home().join("models/faster-whisper-base");
    std::fs::create_dir_all(&model).unwrap();
    crate::put(model.join("model.bin"), "weights");
    assert_eq!(ready(&desk.cx.settings).unwrap(), "faster-whisper");
    let told = heard(&desk, &desk.file("a.wav", &wave())).await.unwrap();
    assert_eq!((told.transcript.as_str(), told.provider.as_str()), ("guten Tag", "faster-whisper"));
    std::fs::remove_file(packages.path().join("faster_whisper.py")).unwrap();
    let failed = heard(&desk, &desk.file("a.wav", &wave())).await.unwrap_err();
    assert_eq!(failed.kind, "upstream");
    assert!(failed.extra["detail"].to_string().contains("faster_whisper"), "{failed:?}");
}

/// A small file that holds more than half an hour is refused before anybody listens, and its copy is
/// gone; a list of other files is no recording, whatever it is called.
#[tokio::test]
async fn e136_a_recording_that_never_ends_is_refused() {
    let desk = Desk::with(&own("touch started; echo words"), &[]);
    let list = desk.file("list.ogg", b"#EXTM3U\nfile:///etc/passwd\n");
    assert_eq!(heard(&desk, &list).await.unwrap_err().kind, "unsupported");
    // A WAV of 45 minutes at the least rate.
    let bytes = 45 * 60 * 4000_u32;
    let mut long = b"RIFF\xff\xff\xff\x7fWAVEfmt \x10\0\0\0\x01\0\x01\0".to_vec();
    long.extend(4000_u32.to_le_bytes());
    long.extend(4000_u32.to_le_bytes());
    long.extend(b"\x01\0\x08\0data");
    long.extend(bytes.to_le_bytes());
    long.resize(long.len() + bytes as usize, 0x80);
    let refused = heard(&desk, &desk.file("long.wav", &long)).await.unwrap_err();
    assert_eq!(refused.kind, "too_large", "{refused}");
    assert_eq!(desk.kept(), 0, "its copy is gone");
    // A voice message is at most ten minutes.
    long.truncate(44 + 11 * 60 * 4000);
    let eleven = desk.file("eleven.wav", &long);
    let in_a_chat = transcribe(&eleven, Patience::CHAT, desk.processes.as_ref(), &desk.cx).await;
    assert_eq!(in_a_chat.unwrap_err().kind, "too_large");
    assert!(!desk.cx.workspace.join("started").exists());
    assert_eq!(seconds(&eleven), Some(660.0));
    assert_eq!(heard(&desk, &eleven).await.unwrap().transcript, "words");
}

/// The same where only a decoder knows the length.
#[tokio::test]
async fn e136_a_small_file_of_endless_silence_is_refused() {
    let desk = Desk::with(&own("touch started; echo words"), &[]);
    if !Path::new("/usr/bin/ffmpeg").exists() {
        petasos_testkit::skip("a_small_file_of_endless_silence", "ffmpeg", "it is not installed");
        return;
    }
    let silence = desk.file("silence.flac", b"");
    #[expect(clippy::disallowed_methods, reason = "a test makes its recording")]
    let made = std::process::Command::new("ffmpeg")
        .args(["-v", "error", "-y", "-f", "lavfi", "-i", "anullsrc=r=8000:cl=mono", "-t", "1901"])
        .arg(&silence)
        .status()
        .unwrap();
    assert!(made.success());
    assert!(std::fs::metadata(&silence).unwrap().len() < 1 << 20, "it is small");
    let refused = heard(&desk, &silence).await.unwrap_err();
    assert_eq!(refused.kind, "too_large", "{refused}");
    assert_eq!(desk.kept(), 0, "its copy is gone");
    assert!(!desk.cx.workspace.join("started").exists());
}
