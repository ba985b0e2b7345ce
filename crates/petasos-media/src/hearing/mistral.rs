//! Mistral: `POST /audio/transcriptions` with the file in a form.

use crate::transcribing::{HearingDef, Listens, text_field};
use crate::vendor::{Body, KeyHeader, Outgoing, Vendor};

pub(super) static HEARING: HearingDef = HearingDef {
    id: "mistral",
    rank: 7,
    way: Listens::Cloud {
        vendor: Vendor {
            id: "mistral",
            keys: &["MISTRAL_API_KEY"],
            base: "https://api.mistral.ai/v1",
            header: KeyHeader::Bearer,
        },
        outgoing: |upload, heed| {
            // The same form without a format: it always answers JSON, and knows no such field.
            let model = heed.model.clone().unwrap_or_else(|| "voxtral-mini-latest".to_owned());
            let mut fields = vec![("model", model)];
            fields.extend(heed.language.clone().map(|language| ("language", language)));
            Outgoing {
                path: "/audio/transcriptions".to_owned(),
                body: Body::Form(fields, vec![upload]),
            }
        },
        text: text_field,
    },
};
