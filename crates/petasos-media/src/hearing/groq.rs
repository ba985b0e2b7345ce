//! Groq: `POST /audio/transcriptions` with the file in a form.

use crate::transcribing::{HearingDef, Listens, text_field};
use crate::vendor::{KeyHeader, Vendor};

pub(super) static HEARING: HearingDef = HearingDef {
    id: "groq",
    rank: 2,
    way: Listens::Cloud {
        vendor: Vendor {
            id: "groq",
            keys: &["GROQ_API_KEY"],
            base: "https://api.groq.com/openai/v1",
            header: KeyHeader::Bearer,
        },
        outgoing: |upload, heed| heed.openai(upload, "whisper-large-v3-turbo"),
        text: text_field,
    },
};
