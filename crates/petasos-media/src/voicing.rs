//! A voice for Piper, fetched when its person asks for one: the model, and what describes it.

use std::path::PathBuf;
use std::time::Duration;

use petasos_contract::{CallContext, Settings};
use petasos_fs::Mode;
use petasos_net::{Reach, checked_url};
use serde_json::Value;

use crate::fault::MediaError;
use crate::source::download;

/// The voice that most people take.
pub const USUAL: &str = "en_US-lessac-medium";
/// Where the voices are published, at one of their versions.
const PLACE: &str = "https://huggingface.co/rhasspy/piper-voices/resolve/v1.0.0";
const MODEL_BYTES_MAX: usize = 200 << 20;
const ABOUT_BYTES_MAX: usize = 1 << 20;
const WHOLE: Duration = Duration::from_mins(20);
const QUALITIES: [&str; 4] = ["x_low", "low", "medium", "high"];

/// Where the model of a voice is; what describes it is beside it.
pub fn address(name: &str) -> Result<String, MediaError> {
    let bad = || {
        let told = format!("`{name}` is no voice of Piper: say LOCALE-NAME-QUALITY, as {USUAL}");
        MediaError::new("bad_argument", told)
    };
    let mut parts = name.split('-');
    let (Some(locale), Some(voice), Some(quality), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(bad());
    };
    let language = locale.split('_').next().unwrap_or_default();
    let is_plain = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let fits = [language, locale, voice].iter().all(|part| is_plain(part));
    if !fits || !QUALITIES.contains(&quality) {
        return Err(bad());
    }
    Ok(format!("{PLACE}/{language}/{locale}/{voice}/{quality}/{name}.onnx"))
}

/// Where the model of a voice is kept.
pub fn kept(name: &str, settings: &Settings) -> PathBuf {
    settings.home().join("models/piper").join(format!("{name}.onnx"))
}

/// Fetches a voice; nothing is kept before both files are whole.
pub async fn fetch(name: &str, cx: &CallContext) -> Result<PathBuf, MediaError> {
    let address = address(name)?;
    let about = bytes(&format!("{address}.json"), ABOUT_BYTES_MAX, cx).await?;
    let told: Value = serde_json::from_slice(&about).unwrap_or_default();
    if told["audio"]["sample_rate"].as_u64().is_none() {
        return Err(MediaError::new("upstream", format!("{address}.json describes no voice")));
    }
    let model = bytes(&address, MODEL_BYTES_MAX, cx).await?;
    if model.is_empty() || model.starts_with(b"<") || model.starts_with(b"version https://git-lfs")
    {
        return Err(MediaError::new("upstream", format!("{address} is no model")));
    }
    let path = kept(name, &cx.settings);
    let beside = path.with_extension("onnx.json");
    for (path, bytes) in [(&beside, about), (&path, model)] {
        let written = petasos_fs::write(path, &bytes, Mode::Exactly(0o600));
        written.map_err(|error| {
            MediaError::new("upstream", format!("`{}`: {error}", path.display()))
        })?;
    }
    Ok(path)
}

async fn bytes(address: &str, most: usize, cx: &CallContext) -> Result<Vec<u8>, MediaError> {
    let url =
        checked_url(address).map_err(|error| MediaError::new("bad_argument", error.to_string()))?;
    download(&url, Reach::PublicOnly, (most, WHOLE), cx).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_voice_is_named_by_its_locale_name_and_quality() {
        assert!(
            address(USUAL)
                .unwrap()
                .ends_with("/v1.0.0/en/en_US/lessac/medium/en_US-lessac-medium.onnx")
        );
        for odd in ["", "lessac", "en_US-lessac", "en_US-lessac-best", "../x-y-low", "a-b-c-low"] {
            assert_eq!(address(odd).unwrap_err().kind, "bad_argument", "{odd}");
        }
    }
}
