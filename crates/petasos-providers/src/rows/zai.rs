//! Z.AI / GLM.

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "zai",
    name: "Z.AI / GLM",
    aliases: &["glm", "z-ai", "z.ai", "zhipu"],
    base_url: "https://api.z.ai/api/paas/v4",
    base_url_env: &["GLM_BASE_URL"],
    key_env: &["GLM_API_KEY", "ZAI_API_KEY", "Z_AI_API_KEY"],
    key_hosts: &["api.z.ai", "open.bigmodel.cn"],
    rank: Some(4),
    models_dev_id: Some("zai"),
    default_model: Some("glm-5.2"),
    aux_model: Some("glm-4.5-flash"),
    vision_model: Some("glm-5v-turbo"),
    reasoning_field: Some("thinking"),
    ..Row::EMPTY
};
