//! Connecting: encryption, the login, and a resource.

use petasos_net::stream::{self, Protection, Wire};
use tokio::io::AsyncWriteExt as _;

use super::scram::Scram;
use super::xml::{Element, Stanzas, escaped};
use super::{Reader, Writer, Xmpp};
use crate::platform::LinkError;

impl Xmpp {
    fn greeting(&self) -> String {
        format!(
            "<?xml version='1.0'?><stream:stream to='{}' version='1.0' xmlns='jabber:client' \
             xmlns:stream='http://etherx.jabber.org/streams'>",
            escaped(self.domain())
        )
    }

    /// Connects, encrypts and logs in.
    pub(super) async fn connect(&self) -> Result<(Reader, Writer), LinkError> {
        let lost = |error: std::io::Error| LinkError::Lost(error.to_string());
        let local = matches!(self.host.as_str(), "localhost" | "127.0.0.1" | "::1");
        let wire = stream::connect(&self.host, self.port, Protection::Bare).await.map_err(lost)?;
        let (mut reader, mut writer) = halves(wire);
        let mut features = self.begin(&mut reader, &mut writer).await.map_err(lost)?;
        let mut encrypted = false;
        if features.child("starttls").is_some() && (!local || self.ca_cert.is_some()) {
            let ask = "<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>";
            writer.write_all(ask.as_bytes()).await.map_err(lost)?;
            if reader.next().await.map_err(lost)?.name != "proceed" {
                return Err(LinkError::Lost("the server does not encrypt".to_owned()));
            }
            let wire = reader.into_inner().unsplit(writer);
            let trust = self.ca_cert.as_deref().map_or(Protection::Trusted, Protection::Pinned);
            let wire = stream::encrypt(wire, self.domain(), trust).await.map_err(lost)?;
            (reader, writer) = halves(wire);
            features = self.begin(&mut reader, &mut writer).await.map_err(lost)?;
            encrypted = true;
        }
        if !encrypted && !local {
            return Err(LinkError::Fatal("the server offers no encryption".to_owned()));
        }
        self.log_in(&mut reader, &mut writer, &features).await?;
        self.begin(&mut reader, &mut writer).await.map_err(lost)?;
        // A name of its own: whoever has the same one is thrown out.
        let resource = format!("petasos-{}", random().map_err(LinkError::Lost)?);
        let bind = format!(
            "<iq type='set' id='bind'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'>\
             <resource>{resource}</resource></bind></iq>"
        );
        writer.write_all(bind.as_bytes()).await.map_err(lost)?;
        if reader.next().await.map_err(lost)?.get("type") != "result" {
            return Err(LinkError::Lost("the server gives us no resource".to_owned()));
        }
        Ok((reader, writer))
    }

    /// A new stream; what the server offers on it.
    async fn begin(&self, reader: &mut Reader, writer: &mut Writer) -> std::io::Result<Element> {
        writer.write_all(self.greeting().as_bytes()).await?;
        reader.head().await?;
        reader.next().await
    }

    async fn log_in(
        &self,
        reader: &mut Reader,
        writer: &mut Writer,
        features: &Element,
    ) -> Result<(), LinkError> {
        const NS: &str = "urn:ietf:params:xml:ns:xmpp-sasl";
        let lost = |error: std::io::Error| LinkError::Lost(error.to_string());
        let offered = features.child("mechanisms").map(|it| it.children.as_slice());
        let offered: Vec<String> =
            offered.unwrap_or_default().iter().map(|it| it.text.clone()).collect();
        let nonce = random().map_err(LinkError::Lost)?;
        let begun = Scram::begin(&offered, self.user(), &nonce);
        let (mut scram, name, first) = begun.ok_or_else(|| {
            LinkError::Fatal(format!(
                "the server offers no login by SCRAM, only {}",
                offered.join(", ")
            ))
        })?;
        let ask = format!("<auth xmlns='{NS}' mechanism='{name}'>{first}</auth>");
        writer.write_all(ask.as_bytes()).await.map_err(lost)?;
        let challenge = reader.next().await.map_err(lost)?;
        let answer = Some(&challenge).filter(|it| it.name == "challenge");
        let answer = answer.and_then(|it| scram.answer(&it.text, &self.password));
        let answer = answer.ok_or_else(|| refused(&challenge))?;
        let ask = format!("<response xmlns='{NS}'>{answer}</response>");
        writer.write_all(ask.as_bytes()).await.map_err(lost)?;
        let end = reader.next().await.map_err(lost)?;
        if end.name != "success" {
            return Err(refused(&end));
        }
        if !scram.is_proved(&end.text) {
            return Err(LinkError::Fatal("the server does not know the password".to_owned()));
        }
        Ok(())
    }
}

fn halves(wire: Box<dyn Wire>) -> (Reader, Writer) {
    let (reader, writer) = tokio::io::split(wire);
    (Stanzas::new(reader), writer)
}

fn refused(said: &Element) -> LinkError {
    let why = said.children.first().map_or("no reason", |why| why.name.as_str());
    match why {
        "not-authorized" | "credentials-expired" | "account-disabled" => {
            LinkError::Fatal(format!("the server refuses the login: {why}"))
        }
        _ => LinkError::Lost(format!("the login failed: {why}")),
    }
}

fn random() -> Result<String, String> {
    let mut bytes = [0_u8; 18];
    getrandom::fill(&mut bytes).map_err(|error| error.to_string())?;
    Ok(base64::Engine::encode(&base64::engine::general_purpose::URL_SAFE_NO_PAD, bytes))
}
