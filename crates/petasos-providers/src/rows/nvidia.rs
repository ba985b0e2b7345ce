//! NVIDIA NIM.

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "nvidia",
    name: "NVIDIA NIM",
    aliases: &["build-nvidia", "nemotron", "nim", "nvidia-nim"],
    base_url: "https://integrate.api.nvidia.com/v1",
    base_url_env: &["NVIDIA_BASE_URL"],
    key_env: &["NVIDIA_API_KEY"],
    key_hosts: &["integrate.api.nvidia.com", "<loopback>"],
    rank: Some(17),
    models_dev_id: Some("nvidia"),
    default_model: Some("nvidia/nemotron-3-ultra-550b-a55b"),
    default_max_tokens: Some(16_384),
    ..Row::EMPTY
};
