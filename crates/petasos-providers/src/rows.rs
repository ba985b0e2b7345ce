//! Index of the providers. Kept in step with the folder by the build; do not edit.

mod ai_gateway;
mod alibaba;
mod alibaba_coding_plan;
mod anthropic;
mod arcee;
mod azure_foundry;
mod bedrock;
mod cerebras;
mod cohere;
mod copilot;
mod copilot_acp;
mod custom;
mod databricks;
mod deepinfra;
mod deepseek;
mod fireworks;
mod gemini;
mod gitlab;
mod gmi;
mod google_gemini_cli;
mod groq;
mod huggingface;
mod kilocode;
mod kimi_coding;
mod kimi_coding_cn;
mod lmstudio;
mod minimax;
mod minimax_cn;
mod minimax_oauth;
mod mistral;
mod moa;
mod nous;
mod novita;
mod nvidia;
mod ollama_cloud;
mod openai_api;
mod openai_codex;
mod opencode_go;
mod opencode_zen;
mod openrouter;
mod perplexity;
mod qwen_oauth;
mod snowflake;
mod stepfun;
mod tencent_tokenhub;
mod together;
mod upstage;
mod venice;
mod vertex;
mod xai;
mod xai_oauth;
mod xiaomi;
mod zai;

use crate::row::Row;

/// Every member, in the order of its file name.
#[rustfmt::skip]
pub static ROWS: &[&Row] = &[
    &ai_gateway::ROW,
    &alibaba::ROW,
    &alibaba_coding_plan::ROW,
    &anthropic::ROW,
    &arcee::ROW,
    &azure_foundry::ROW,
    &bedrock::ROW,
    &cerebras::ROW,
    &cohere::ROW,
    &copilot::ROW,
    &copilot_acp::ROW,
    &custom::ROW,
    &databricks::ROW,
    &deepinfra::ROW,
    &deepseek::ROW,
    &fireworks::ROW,
    &gemini::ROW,
    &gitlab::ROW,
    &gmi::ROW,
    &google_gemini_cli::ROW,
    &groq::ROW,
    &huggingface::ROW,
    &kilocode::ROW,
    &kimi_coding::ROW,
    &kimi_coding_cn::ROW,
    &lmstudio::ROW,
    &minimax::ROW,
    &minimax_cn::ROW,
    &minimax_oauth::ROW,
    &mistral::ROW,
    &moa::ROW,
    &nous::ROW,
    &novita::ROW,
    &nvidia::ROW,
    &ollama_cloud::ROW,
    &openai_api::ROW,
    &openai_codex::ROW,
    &opencode_go::ROW,
    &opencode_zen::ROW,
    &openrouter::ROW,
    &perplexity::ROW,
    &qwen_oauth::ROW,
    &snowflake::ROW,
    &stepfun::ROW,
    &tencent_tokenhub::ROW,
    &together::ROW,
    &upstage::ROW,
    &venice::ROW,
    &vertex::ROW,
    &xai::ROW,
    &xai_oauth::ROW,
    &xiaomi::ROW,
    &zai::ROW,
];
