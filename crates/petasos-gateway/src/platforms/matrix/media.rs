//! Files of Matrix: `mxc://` addresses, through the server that we are logged in to.

use std::time::Duration;

use petasos_net::Method;
use petasos_store::MediaFile;
use serde_json::Value;

use super::{FILE_BYTES_MAX, Matrix, said};
use crate::api::{of_status, segment, send_error};
use crate::link::Link;
use crate::platform::{Arrival, SendError};

impl Matrix {
    /// Fetches the file of an event.
    pub(super) async fn attach(&self, link: &Link, content: &Value, arrival: &mut Arrival) {
        let Some(url) = content.get("url").and_then(Value::as_str) else { return };
        let Some((server, media)) =
            url.strip_prefix("mxc://").and_then(|rest| rest.split_once('/'))
        else {
            return;
        };
        let mime = content
            .pointer("/info/mimetype")
            .and_then(Value::as_str)
            .unwrap_or("application/octet-stream");
        let path = format!("client/v1/media/download/{}/{}", segment(server), segment(media));
        let fetched = async {
            let to = link.media_path(mime)?;
            let request =
                self.api.request(Method::GET, &path).map_err(|error| error.to_string())?;
            self.api.download(request, &to, link.file_bytes_max(FILE_BYTES_MAX)).await?;
            Ok::<_, String>(to)
        };
        let name = arrival.text.clone();
        if let Some(to) = link.fetch(arrival, fetched).await {
            let path = to.display().to_string();
            arrival.media.push(MediaFile { path, mime: mime.to_owned(), name });
        } else {
            // The words are only the name of the file.
            arrival.text.clear();
        }
    }

    /// Gives a file to the server; its address is what a message names.
    pub(super) async fn upload(&self, file: &MediaFile) -> Result<String, SendError> {
        let bytes = crate::media::read(file)?;
        let request = self
            .api
            .request(Method::POST, &format!("media/v3/upload?filename={}", segment(&file.name)));
        let request = request
            .and_then(|it| it.header("content-type", &file.mime))
            .map_err(|error| send_error(&error))?;
        // An upload alone shows nothing to anybody: a repeat does no harm.
        let answer = self.api.answer(request.body(bytes), Duration::from_mins(2)).await;
        let answer = answer.map_err(|error| SendError::Transient(error.to_string()))?;
        match answer.body.get("content_uri").and_then(Value::as_str) {
            Some(uri) => Ok(uri.to_owned()),
            None => Err(of_status(&answer, &said(&answer))),
        }
    }
}
