//! Files on WeChat: they lie sealed with a store of the vendor's, each with a key of its own that
//! goes with the message.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use petasos_net::Method;
use petasos_store::MediaFile;
use serde_json::{Value, json};

use super::{CALL, Weixin, settled};
use crate::api::{segment, send_error};
use crate::crypt::{block_opened, block_sealed, hex, md5, unbased};
use crate::link::Link;
use crate::media;
use crate::platform::{Arrival, SendError};

const PUT: Duration = Duration::from_mins(2);
const FILE_BYTES_MAX: usize = 20_000_000;
/// The kinds of items that are files: their number, their name, and as what they are put.
const KINDS: [(i64, &str, i64); 4] =
    [(2, "image_item", 1), (5, "video_item", 2), (4, "file_item", 3), (3, "voice_item", 4)];

impl Weixin {
    /// Fetches the files of a message.
    pub(super) async fn with_files(&self, link: &Link, message: &Value, arrival: &mut Arrival) {
        let items = message.get("item_list").and_then(Value::as_array).cloned();
        for item in items.unwrap_or_default() {
            let number = item.get("type").and_then(Value::as_i64);
            let Some((_, name, _)) = KINDS.iter().find(|(kind, ..)| Some(*kind) == number) else {
                continue;
            };
            let Some(inner) = item.get(name).filter(|it| it.get("media").is_some()) else {
                continue;
            };
            // What was said is read already.
            if inner.get("text").and_then(Value::as_str).is_some_and(|text| !text.is_empty()) {
                continue;
            }
            let fetched = link.fetch(arrival, self.file(link, inner, name)).await;
            arrival.media.extend(fetched);
        }
    }

    async fn file(&self, link: &Link, inner: &Value, kind: &str) -> Result<MediaFile, String> {
        let text = |path: &str| inner.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let place = format!(
            "download?encrypted_query_param={}",
            segment(text("/media/encrypt_query_param"))
        );
        let key = key_of(text("/media/aes_key")).or_else(|| key_of(text("/aeskey")));
        let request = self.store.request(Method::GET, &place).map_err(|error| error.to_string())?;
        let reply = self.store.net().send(request).await.map_err(|error| error.to_string())?;
        if reply.status != 200 {
            return Err(format!("the store of files answered {}", reply.status));
        }
        let sealed = reply.bytes(FILE_BYTES_MAX, PUT).await.map_err(|error| error.to_string())?;
        let plain = key.and_then(|key| block_opened(&key, &sealed)).ok_or("its seal is broken")?;
        let name = match (text("/file_name"), kind) {
            ("", "image_item") => "picture.jpg",
            ("", "video_item") => "film.mp4",
            ("", "voice_item") => "voice.silk",
            ("", _) => "file",
            (name, _) => name,
        };
        let mime = media::mime_of(name);
        let to = link.media_path(mime)?;
        media::keep(&to, &plain).map_err(|error| error.to_string())?;
        let path = to.display().to_string();
        Ok(MediaFile { path, mime: mime.to_owned(), name: name.to_owned() })
    }

    /// Puts a file into the store; gives the item of a message that shows it.
    pub(super) async fn uploaded(&self, file: &MediaFile, to: &str) -> Result<Value, SendError> {
        let plain = media::read(file)?;
        let (mut key, mut name) = ([0_u8; 16], [0_u8; 16]);
        let random = getrandom::fill(&mut key).and_then(|()| getrandom::fill(&mut name));
        random.map_err(|error| SendError::Transient(error.to_string()))?;
        let sealed = block_sealed(&key, &plain);
        let sealed =
            sealed.ok_or_else(|| SendError::Unreachable("it was not sealed".to_owned()))?;
        let (number, item, kind) = match file.mime.split('/').next() {
            Some("image") => KINDS[0],
            Some("video") => KINDS[1],
            _ => KINDS[2],
        };
        let (name, length) = (hex(&name), sealed.len());
        let ask = json!({
            "filekey": name, "media_type": kind, "to_user_id": to, "rawsize": plain.len(),
            "rawfilemd5": md5(&plain), "filesize": length, "no_need_thumb": true,
            "aeskey": hex(&key), "base_info": { "channel_version": "1.0.0" },
        });
        let answer = self.call("getuploadurl", &ask, CALL).await;
        let answer = answer.map_err(|error| SendError::Transient(error.to_string()))?;
        settled(&answer)?;
        let param = answer.body.get("upload_param").and_then(Value::as_str).unwrap_or_default();
        let place =
            format!("upload?encrypted_query_param={}&filekey={}", segment(param), segment(&name));
        let request = self.store.request(Method::POST, &place).map_err(|it| send_error(&it))?;
        let request = request.header("content-type", "application/octet-stream");
        let request = request.map_err(|it| send_error(&it))?.first_byte(PUT).body(sealed);
        // Nobody has seen it yet: a second try does no harm.
        let reply = self.store.net().send(request).await;
        let reply = reply.map_err(|error| SendError::Transient(error.to_string()))?;
        let param = reply.headers.get("x-encrypted-param").and_then(|it| it.to_str().ok());
        let Some(param) = param.filter(|_| reply.status == 200) else {
            let why = format!("the store of files answered {}", reply.status);
            return Err(SendError::Unreachable(why));
        };
        let shared = json!({
            "encrypt_query_param": param, "aes_key": STANDARD.encode(hex(&key)), "encrypt_type": 1,
        });
        let inner = match item {
            "image_item" => {
                json!({ "media": shared, "aeskey": hex(&key), "mid_size": length, "hd_size": length })
            }
            "video_item" => json!({ "media": shared, "video_size": length }),
            _ => json!({ "media": shared, "file_name": file.name, "len": plain.len().to_string() }),
        };
        Ok(json!({ "type": number, item: inner }))
    }
}

/// A key as the vendor writes it: in base64 as it is or as digits, or as digits alone.
fn key_of(text: &str) -> Option<Vec<u8>> {
    let digits = |text: &str| -> Option<Vec<u8>> {
        if text.len() != 32 {
            return None;
        }
        let pair = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
        (0..16).map(|at| pair(at * 2)).collect()
    };
    if let Some(key) = digits(text) {
        return Some(key);
    }
    let plain = unbased(text)?;
    if plain.len() == 16 {
        return Some(plain);
    }
    digits(std::str::from_utf8(&plain).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_however_it_is_written() {
        let key: Vec<u8> = (0..16).collect();
        for written in [hex(&key), STANDARD.encode(&key), STANDARD.encode(hex(&key))] {
            assert_eq!(key_of(&written).as_ref(), Some(&key), "{written}");
        }
        assert_eq!(key_of("short"), None);
    }
}
