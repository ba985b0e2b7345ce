//! Files on XMPP: put with the server's file store (XEP-0363) and told as an address, fetched when
//! they lie with the server itself.

use std::time::Duration;

use petasos_net::{Method, Request, Url, checked_url};
use petasos_store::MediaFile;
use tokio::sync::oneshot;

use super::xml::{Element, escaped};
use super::{CONFIRM, Xmpp};
use crate::api::{Api, send_error};
use crate::link::Link;
use crate::media;
use crate::platform::{Arrival, SendError};

const UPLOAD: &str = "urn:xmpp:http:upload:0";
const ITEMS: &str = "http://jabber.org/protocol/disco#items";
const INFO: &str = "http://jabber.org/protocol/disco#info";
const OOB: &str = "jabber:x:oob";
const PUT: Duration = Duration::from_mins(2);
/// Headers that a file store may ask for; it may not choose others.
const HEADERS: [&str; 3] = ["authorization", "cookie", "expires"];

/// Who keeps files for people.
#[derive(Debug, Clone)]
pub(super) struct FileStore {
    jid: String,
    /// Where its files lie, once one was put there.
    host: Option<String>,
}

impl Xmpp {
    /// Asks somebody something, and gives the answer.
    async fn asked(&self, to: &str, kind: &str, question: &str) -> Result<Element, SendError> {
        let id = self.id("ask");
        let (tell, answer) = oneshot::channel();
        self.answers.lock().insert(id.clone(), tell);
        let to = escaped(to);
        let said =
            self.say(&format!("<iq type='{kind}' to='{to}' id='{id}'>{question}</iq>")).await;
        let answer = match said {
            Ok(()) => tokio::time::timeout(CONFIRM, answer).await.ok().and_then(Result::ok),
            Err(error) => {
                self.answers.lock().remove(&id);
                return Err(error);
            }
        };
        self.answers.lock().remove(&id);
        // Nothing was sent to anybody yet: asking again does no harm.
        let answer = answer.ok_or_else(|| SendError::Transient("no answer".to_owned()))?;
        if answer.get("type") == "error" {
            let why = answer.child("error").and_then(|it| it.children.first());
            let why = why.map_or("refused", |why| why.name.as_str());
            return Err(SendError::Unreachable(format!("the server says {why}")));
        }
        Ok(answer)
    }

    /// Finds who keeps files on our server.
    async fn file_store(&self) -> Result<FileStore, SendError> {
        let known = self.store.lock().clone();
        if let Some(known) = known {
            return Ok(known);
        }
        let query = |of: &str| format!("<query xmlns='{of}'/>");
        let items = self.asked(self.domain(), "get", &query(ITEMS)).await?;
        let items = items.child("query").map(|it| it.children.clone()).unwrap_or_default();
        let items = items.iter().map(|item| item.get("jid").to_owned());
        for jid in items.chain([self.domain().to_owned()]) {
            let Ok(info) = self.asked(&jid, "get", &query(INFO)).await else { continue };
            let features = info.child("query").map(|it| it.children.clone()).unwrap_or_default();
            if features.iter().any(|it| it.name == "feature" && it.get("var") == UPLOAD) {
                let found = FileStore { jid, host: None };
                *self.store.lock() = Some(found.clone());
                return Ok(found);
            }
        }
        Err(SendError::Unreachable("this server keeps no files".to_owned()))
    }

    /// Puts a file with the server; gives its address and what marks the message as a file.
    pub(super) async fn uploaded(&self, file: &MediaFile) -> Result<(String, String), SendError> {
        let store = self.file_store().await?;
        let bytes = media::read(file)?;
        let wish = format!(
            "<request xmlns='{UPLOAD}' filename='{}' size='{}' content-type='{}'/>",
            escaped(&file.name),
            bytes.len(),
            escaped(&file.mime)
        );
        let answer = self.asked(&store.jid, "get", &wish).await?;
        let slot = answer.child("slot");
        let (put, get) = (slot.and_then(|it| it.child("put")), slot.and_then(|it| it.child("get")));
        let (Some(put), Some(get)) = (put, get) else {
            return Err(SendError::Unreachable("the server gives no place for a file".to_owned()));
        };
        let refused = |error: String| SendError::Unreachable(error);
        let url = checked_url(put.get("url")).map_err(|error| refused(error.to_string()))?;
        let mut request = Request::new(Method::PUT, url).first_byte(PUT);
        let asked = put.children.iter().filter(|it| it.name == "header");
        for header in asked.filter(|it| HEADERS.contains(&it.get("name").to_lowercase().as_str())) {
            let value = header.text.trim().replace(['\r', '\n'], "");
            request = request.header(header.get("name"), &value).map_err(|it| send_error(&it))?;
        }
        let request = request.header("content-type", &file.mime).map_err(|it| send_error(&it))?;
        let reply = self.net.send(request.body(bytes)).await;
        // A file that nobody was told of may lie there twice.
        let reply = reply.map_err(|error| SendError::Transient(error.to_string()))?;
        if !matches!(reply.status, 200 | 201) {
            return Err(refused(format!("the file store answered {}", reply.status)));
        }
        let address = get.get("url").to_owned();
        let host = checked_url(&address).ok().and_then(|url| url.host_str().map(str::to_owned));
        *self.store.lock() = Some(FileStore { host, ..store });
        let more = format!("<x xmlns='{OOB}'><url>{}</url></x>", escaped(&address));
        Ok((address, more))
    }

    /// Whether an address is one of our own server's.
    fn is_ours(&self, url: &Url) -> bool {
        let Some(host) = url.host_str() else { return false };
        let below = format!(".{}", self.domain());
        let kept = self.store.lock().as_ref().and_then(|store| store.host.clone());
        let own = [self.domain(), self.host.as_str()].contains(&host) || host.ends_with(&below);
        own || kept.as_deref() == Some(host)
    }

    /// Fetches the file of a message that lies with our server; of any other only the address is
    /// read.
    pub(super) async fn with_file(&self, link: &Link, stanza: &Element, arrival: &mut Arrival) {
        let told = stanza.child_of("x", OOB).and_then(|it| it.child("url"));
        let Some(url) = told.and_then(|it| checked_url(it.text.trim()).ok()) else { return };
        if !self.is_ours(&url) {
            return;
        }
        let address = url.to_string();
        let name = url.path_segments().and_then(|mut parts| parts.next_back().map(str::to_owned));
        let name = name.filter(|name| !name.is_empty()).unwrap_or_else(|| "file".to_owned());
        let fetched = async {
            let mime = media::mime_of(&name).to_owned();
            let to = link.media_path(&mime)?;
            let api = Api::new(&self.net, &address, None, "xmpp")?;
            let most = link.file_bytes_max(super::PLATFORM.media_bytes_max);
            api.download(Request::new(Method::GET, url.clone()), &to, most).await?;
            Ok(MediaFile { path: to.display().to_string(), mime, name: name.clone() })
        };
        if let Some(file) = link.fetch(arrival, fetched).await {
            arrival.media.push(file);
            // Its address is the whole text where nothing else is said.
            if arrival.text.trim() == address {
                arrival.text.clear();
            }
        }
    }
}
