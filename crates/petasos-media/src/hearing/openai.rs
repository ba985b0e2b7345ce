//! OpenAI: `POST /audio/transcriptions` with the file in a form.

use crate::transcribing::{HearingDef, Listens, text_field};
use crate::vendor::{KeyHeader, Vendor};

pub(super) static HEARING: HearingDef = HearingDef {
    id: "openai",
    rank: 3,
    way: Listens::Cloud {
        vendor: Vendor {
            id: "openai",
            keys: &["VOICE_TOOLS_OPENAI_KEY", "OPENAI_API_KEY"],
            base: "https://api.openai.com/v1",
            header: KeyHeader::Bearer,
        },
        outgoing: |upload, heed| heed.openai(upload, "whisper-1"),
        text: text_field,
    },
};
