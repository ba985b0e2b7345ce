//! Where a picture or film comes from.

use std::time::Duration;

use base64::Engine as _;
use petasos_contract::{CallContext, Settings};
use petasos_net::{Method, Net, NetError, NetOptions, Reach, Request, Url, checked_url};

use crate::fault::MediaError;

/// How often a failed download is begun, and what is waited between.
const TRIES: [Duration; 3] = [Duration::ZERO, Duration::from_secs(1), Duration::from_secs(3)];
const DOWNLOAD_SECONDS: u64 = 30;

/// What a model named.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// An address, to be fetched under the rules for addresses.
    Address(Url),
    /// The bytes themselves.
    Data(Vec<u8>),
    /// A file, as it was written.
    File(String),
}

impl Source {
    /// Takes an argument apart; `most` bytes of data.
    pub fn of(text: &str, most: usize) -> Result<Self, MediaError> {
        let text = text.trim();
        let begins = |start: &str| {
            text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
        };
        if text.is_empty() {
            return Err(MediaError::new("bad_argument", "no source: give an address or a path"));
        }
        if begins("data:") {
            return data(text, most).map(Self::Data);
        }
        if begins("http:") || begins("https:") {
            let url = checked_url(text)
                .map_err(|error| MediaError::new("bad_argument", error.to_string()))?;
            return Ok(Self::Address(url));
        }
        if begins("file:") {
            let path = Url::parse(text).ok().and_then(|url| url.to_file_path().ok());
            let path = path.and_then(|path| path.to_str().map(str::to_owned));
            return path.map(Self::File).ok_or_else(|| {
                MediaError::new("bad_argument", "the file: address names no file of this machine")
            });
        }
        match text.split_once("://") {
            Some((scheme, _)) if scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
                let told =
                    format!("`{scheme}:` addresses are not read: give http, https or a path");
                Err(MediaError::new("bad_argument", told))
            }
            _ => Ok(Self::File(text.to_owned())),
        }
    }
}

fn data(text: &str, most: usize) -> Result<Vec<u8>, MediaError> {
    let bad = |what: &str| MediaError::new("bad_argument", format!("the data address {what}"));
    let (head, body) = text.split_once(',').ok_or_else(|| bad("has no comma"))?;
    if body.len() / 4 * 3 > most {
        return Err(MediaError::new("too_large", format!("the data has more than {most} bytes")));
    }
    if !head.to_ascii_lowercase().ends_with(";base64") {
        return Err(bad("is not in base64"));
    }
    let body: String = body.chars().filter(|letter| !letter.is_ascii_whitespace()).collect();
    base64::engine::general_purpose::STANDARD.decode(body).map_err(|_| bad("is no base64"))
}

/// The way out for media of one snapshot.
pub(crate) fn net(settings: &Settings) -> std::sync::Arc<Net> {
    settings.derived(|settings| Net::new(NetOptions::from_settings(settings)))
}

/// The bytes behind an address that a model or a vendor chose: public hosts only, no credential.
pub async fn fetched(url: &Url, most: usize, cx: &CallContext) -> Result<Vec<u8>, MediaError> {
    let vision = cx.settings.get("auxiliary.vision");
    let seconds = vision.and_then(|vision| vision.get("download_timeout")?.as_u64());
    let seconds = seconds.unwrap_or(DOWNLOAD_SECONDS);
    let whole = Duration::from_secs(seconds.clamp(1, 600));
    download(url, Reach::PublicOnly, (most, whole), cx).await
}

/// The bytes behind an address, without a credential; what fails in passing is tried again.
pub(crate) async fn download(
    url: &Url,
    reach: Reach,
    (most, whole): (usize, Duration),
    cx: &CallContext,
) -> Result<Vec<u8>, MediaError> {
    let net = net(&cx.settings);
    let mut last = None;
    for wait in TRIES {
        let work = async {
            tokio::time::sleep(wait).await;
            once(&net, url, reach, (most, whole)).await
        };
        let got = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => return Err(MediaError::cancelled()),
            got = work => got,
        };
        match got {
            Err(error) if matches!(error.kind, "upstream" | "timeout") => last = Some(error),
            other => return other,
        }
    }
    Err(last.unwrap_or_else(MediaError::cancelled))
}

async fn once(
    net: &Net,
    url: &Url,
    reach: Reach,
    (most, whole): (usize, Duration),
) -> Result<Vec<u8>, MediaError> {
    let mut request = Request::new(Method::GET, url.clone()).first_byte(whole);
    request.reach = reach;
    let reply = net.send(request.header("accept", "image/*, video/*, */*;q=0.5")?).await;
    let reply = reply.map_err(|error| match error {
        // Asked again, it leads to the same place.
        NetError::BadRedirect { .. } | NetError::TooManyRedirects { .. } => {
            MediaError::new("bad_argument", error.to_string())
        }
        error => error.into(),
    })?;
    let host = url.host_str().unwrap_or_default();
    match reply.status {
        200..300 => Ok(reply.bytes(most, whole).await?.to_vec()),
        status @ (404 | 410) => {
            let told = format!("{host} has no such file ({status})");
            Err(MediaError::new("not_found", told).with("status", status))
        }
        status @ (401 | 403 | 407 | 451) => {
            let told = format!("{host} does not give this file to programs ({status})");
            Err(MediaError::new("blocked_site", told).with("status", status))
        }
        429 => Err(MediaError::new("rate_limited", format!("{host} asks for fewer requests"))),
        status => {
            let told = format!("{host} answered {status}");
            Err(MediaError::new("upstream", told).with("status", status))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_an_address_data_or_a_file() {
        let of = |text: &str| Source::of(text, 100);
        assert!(matches!(of("https://a.example/x.png"), Ok(Source::Address(_))));
        assert_eq!(of("data:image/png;base64,QUI=").unwrap(), Source::Data(b"AB".to_vec()));
        assert_eq!(of(" a b.png ").unwrap(), Source::File("a b.png".to_owned()));
        assert_eq!(of("file:///w/a%20b.png").unwrap(), Source::File("/w/a b.png".to_owned()));
        for (bad, kind) in [
            ("", "bad_argument"),
            ("data:image/png,AB", "bad_argument"),
            ("data:image/png;base64,%%", "bad_argument"),
            ("ftp://a.example/x", "bad_argument"),
            ("http://user:pw@a.example/x", "bad_argument"),
        ] {
            assert_eq!(of(bad).unwrap_err().kind, kind, "{bad}");
        }
        let long = format!("data:image/png;base64,{}", "A".repeat(400));
        assert_eq!(of(&long).unwrap_err().kind, "too_large");
    }
}
