//! ElevenLabs: `POST /v1/speech-to-text` with the file in a form.

use crate::transcribing::{HearingDef, Listens, text_field};
use crate::vendor::{Body, KeyHeader, Outgoing, Vendor};

pub(super) static HEARING: HearingDef = HearingDef {
    id: "elevenlabs",
    rank: 5,
    way: Listens::Cloud {
        vendor: Vendor {
            id: "elevenlabs",
            keys: &["ELEVENLABS_API_KEY"],
            base: "https://api.elevenlabs.io/v1",
            header: KeyHeader::Named("xi-api-key"),
        },
        outgoing: |upload, heed| {
            let model = heed.model.clone().unwrap_or_else(|| "scribe_v2".to_owned());
            let mut fields = vec![("model_id", model)];
            fields.extend(heed.language.clone().map(|language| ("language_code", language)));
            Outgoing { path: "/speech-to-text".to_owned(), body: Body::Form(fields, vec![upload]) }
        },
        text: text_field,
    },
};
