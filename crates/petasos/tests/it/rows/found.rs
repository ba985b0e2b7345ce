//! The services of the run: what they told about themselves, and the hand of the person whose they
//! are.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use base64::Engine as _;

const BOOK: &str = "<D:mkcol xmlns:D=\"DAV:\" xmlns:A=\"urn:ietf:params:xml:ns:carddav\"><D:set>\
    <D:prop><D:resourcetype><D:collection/><A:addressbook/></D:resourcetype><D:displayname>People\
    </D:displayname></D:prop></D:set></D:mkcol>";
const CALENDAR: &str = "<C:mkcalendar xmlns:D=\"DAV:\" xmlns:C=\"urn:ietf:params:xml:ns:caldav\">\
    <D:set><D:prop><D:displayname>walk</D:displayname></D:prop></D:set></C:mkcalendar>";
const CARD: &str = "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:walk-1\r\nFN:Ada Lovelace\r\n\
    N:Lovelace;Ada;;;\r\nEMAIL:ada@example.org\r\nEND:VCARD\r\n";

/// What a service told about itself.
#[expect(clippy::disallowed_methods, reason = "services tell their addresses by variables")]
fn told(component: &'static str, name: &str) -> Result<String, &'static str> {
    let whole = format!("PETASOS_TEST_{}_{name}", component.to_uppercase());
    std::env::var(whole).ok().filter(|value| !value.is_empty()).ok_or(component)
}

pub(super) struct Found {
    pub(super) hass_url: String,
    pub(super) hass_token: String,
    pub(super) dav_url: String,
    pub(super) dav_user: String,
    pub(super) dav_password: String,
    pub(super) mail_address: String,
    pub(super) mail_password: String,
    pub(super) mail_ca: String,
    pub(super) imap: u16,
    pub(super) smtp: u16,
    pub(super) database: String,
}

impl Found {
    /// All of them, or the first that is missing.
    pub(super) fn all() -> Result<Self, &'static str> {
        let port = |name: &str| told("mail", name)?.parse().map_err(|_| "mail");
        for program in ["espeak-ng", "ffmpeg"] {
            let there = ["/usr/bin", "/usr/local/bin"];
            if !there.iter().any(|at| std::path::Path::new(at).join(program).exists()) {
                return Err(program);
            }
        }
        Ok(Self {
            hass_url: told("homeassistant", "HASS_URL")?,
            hass_token: told("homeassistant", "HASS_TOKEN")?,
            dav_url: told("radicale", "DAV_URL")?,
            dav_user: told("radicale", "DAV_USER")?,
            dav_password: told("radicale", "DAV_PASSWORD")?,
            mail_address: told("mail", "MAIL_PERSON")?,
            mail_password: told("mail", "MAIL_PERSON_PASSWORD")?,
            mail_ca: told("mail", "MAIL_CA_FILE")?,
            imap: port("MAIL_IMAPS_PORT")?,
            smtp: port("MAIL_SMTP_PORT")?,
            database: told("postgres", "DATABASE_URL")?,
        })
    }

    /// An empty calendar `walk`, and an address book with one person.
    pub(super) fn furnish(&self) {
        for folder in ["walk/", "walk-people/"] {
            self.say("DELETE", folder, "text/plain", "");
        }
        assert_eq!(self.say("MKCALENDAR", "walk/", "application/xml", CALENDAR), "201");
        assert_eq!(self.say("MKCOL", "walk-people/", "application/xml", BOOK), "201");
        assert_eq!(self.say("PUT", "walk-people/1.vcf", "text/vcard", CARD), "201");
    }

    /// Says something to the calendar server, as another program of the person does; its status.
    fn say(&self, method: &str, path: &str, kind: &str, body: &str) -> String {
        let address = self.dav_url.trim_start_matches("http://").trim_end_matches('/');
        let key = format!("{}:{}", self.dav_user, self.dav_password);
        let key = base64::prelude::BASE64_STANDARD.encode(key);
        let request = format!(
            "{method} /{}/{path} HTTP/1.0\r\nhost: {address}\r\nauthorization: Basic {key}\r\n\
             content-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}",
            self.dav_user,
            body.len()
        );
        let mut server = TcpStream::connect(address).expect("the calendar server");
        server.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        server.read_to_string(&mut answer).expect("it answers");
        answer.split_whitespace().nth(1).unwrap_or_default().to_owned()
    }
}
