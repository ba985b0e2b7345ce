//! AWS Bedrock.

use crate::mode::ApiMode;
use crate::row::{Auth, Row};

pub(super) const ROW: Row = Row {
    id: "bedrock",
    name: "AWS Bedrock",
    aliases: &["amazon", "amazon-bedrock", "aws", "aws-bedrock"],
    auth: Auth::Aws,
    api_mode: ApiMode::BedrockConverse,
    base_url: "https://bedrock-runtime.us-east-1.amazonaws.com",
    base_url_env: &["BEDROCK_BASE_URL"],
    default_model: Some("us.anthropic.claude-sonnet-5"),
    ..Row::EMPTY
};
