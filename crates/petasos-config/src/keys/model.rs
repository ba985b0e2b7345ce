//! Keys that choose models and endpoints. A project may name a model, never where it is or what
//! key goes there.

use super::Kind::{Any, Choice, Flag, Integer, Map, Number, Secret, Text};
use super::{Key, free, key};

const MODES: &[&str] =
    &["chat_completions", "anthropic_messages", "codex_responses", "gemini", "bedrock_converse"];

// One row a line reads as a table.
#[rustfmt::skip]
pub(super) static KEYS: &[Key] = &[
    free("model.default", Text, "", "The model; a bare `model: name` means the same"),
    free("model.model", Text, "", "Other spelling of `model.default`"),
    key("model.provider", Text, "\"auto\"", "The provider: an id, `auto`, `custom`, or a name of your own"),
    key("model.base_url", Text, "", "The endpoint saved with the provider"),
    key("model.api_key", Secret, "", "Key for `model.base_url` only"),
    key("model.api", Secret, "", "Other spelling of `model.api_key`"),
    key("model.key_env", Text, "", "Variable that holds the key"),
    key("model.api_key_env", Text, "", "Other spelling of `model.key_env`"),
    key("model.api_mode", Choice(MODES), "", "The wire dialect"),
    key("model.openai_runtime", Text, "", "`codex_app_server` uses the external Codex runtime"),
    key("model.auth_mode", Text, "", "How Azure is signed in to"),
    key("model.entra.scope", Text, "", "Scope of the Azure sign-in"),
    free("model.max_tokens", Integer, "", "The most tokens of a reply"),
    free("model.context_length", Integer, "", "The size of the context window, when the endpoint does not say"),
    key("model.ollama_num_ctx", Integer, "", "Context size asked of Ollama"),
    key("model.default_headers", Map, "", "Headers sent with every request"),
    key("model.extra_headers", Map, "", "Other spelling of `model.default_headers`"),
    key("model.aliases", Any, "", "Your own short names for `/model`"),
    key("model.persist_switch_by_default", Flag, "false", "Whether `/model` is saved without `--global`"),
    key("model_aliases", Any, "", "Your own short names for `/model`"),
    key("custom_providers", Any, "", "A list of endpoints of your own; `providers` is searched first"),
    key("fallback_model", Any, "", "What to use when the model fails, one map or a list"),
    key("fallback_providers", Any, "", "What to use when the model fails, in order"),
    key("provider_routing", Any, "", "Routing wishes for an aggregator"),
    key("credential_pool_strategies", Map, "", "How a provider's keys take turns"),
    key("prompt_caching.cache_ttl", Text, "\"5m\"", "How long the prompt prefix is cached"),
    key("prompt_caching.enabled", Flag, "true", "Mark the prompt prefix for caching"),
    key("openrouter.response_cache", Flag, "", "Ask OpenRouter to cache whole responses"),
    key("openrouter.response_cache_ttl", Number, "300", "Seconds a cached response is good"),
    key("openrouter.min_coding_score", Number, "", "Least coding score for automatic choice"),
    key("anthropic.claude_code_credentials", Choice(&["auto", "never"]), "\"auto\"", "Whether a Claude Code sign-in may be used"),
    key("anthropic.subscription_compat", Flag, "", "Shape requests for a subscription"),
    key("bedrock.region", Text, "", "AWS region"),
    key("bedrock.guardrail", Any, "", "Guardrail of Bedrock calls"),
    key("bedrock.discovery", Any, "", "How Bedrock models are listed"),
    key("vertex.project", Text, "", "Google Cloud project"),
    key("vertex.region", Text, "", "Google Cloud region"),
    key("smart_model_routing", Any, "", "Cheaper models for simple turns"),
    key("moa", Any, "", "Models of the mixture"),
];

// One row a line reads as a table.
#[rustfmt::skip]
pub(super) static ENDPOINTS: &[Key] = &[
    key("providers.*.name", Text, "", "The name shown"),
    key("providers.*.base_url", Text, "", "The endpoint"),
    key("providers.*.url", Text, "", "Other spelling of `base_url`"),
    key("providers.*.api", Text, "", "Other spelling of `base_url`"),
    key("providers.*.api_key", Secret, "", "The key"),
    key("providers.*.key_env", Text, "", "Variable that holds the key"),
    key("providers.*.api_key_env", Text, "", "Other spelling of `key_env`"),
    key("providers.*.apiKeyEnv", Text, "", "Other spelling of `key_env`"),
    key("providers.*.keyEnv", Text, "", "Other spelling of `key_env`"),
    key("providers.*.api_mode", Text, "", "The wire dialect"),
    key("providers.*.transport", Text, "", "Other spelling of `api_mode`"),
    key("providers.*.model", Text, "", "The default model"),
    key("providers.*.default_model", Text, "", "Other spelling of `model`"),
    key("providers.*.models", Any, "", "The models, as ids or with options"),
    key("providers.*.context_length", Integer, "", "The size of the context window"),
    key("providers.*.max_output_tokens", Integer, "", "The most tokens of a reply"),
    key("providers.*.max_tokens", Integer, "", "Other spelling of `max_output_tokens`"),
    key("providers.*.rate_limit_delay", Number, "", "Seconds between requests"),
    key("providers.*.request_timeout_seconds", Number, "", "Seconds a request may take"),
    key("providers.*.stale_timeout_seconds", Number, "", "Seconds without a sign of life"),
    key("providers.*.discover_models", Flag, "", "Ask the endpoint for its models"),
    key("providers.*.extra_body", Map, "", "Fields added to every request"),
    key("providers.*.extra_headers", Map, "", "Headers added to every request"),
    key("providers.*.ssl_ca_cert", Text, "", "A certificate authority file"),
    key("providers.*.ssl_verify", Any, "true", "Whether certificates are checked, or a bundle"),
    key("providers.*.enabled", Flag, "true", "Whether it may be used"),
    key("providers.*.detected_endpoint", Any, "", "What was found at the last probe"),
];

// One row a line reads as a table.
#[rustfmt::skip]
pub(super) static AUXILIARY: &[Key] = &[
    key("auxiliary.transient_retries", Integer, "2", "Retries of a side task after a passing failure"),
    key("auxiliary.@task.provider", Text, "\"auto\"", "Provider of a side task; `main` follows the session"),
    key("auxiliary.@task.model", Text, "", "Model of a side task"),
    key("auxiliary.@task.base_url", Text, "", "Endpoint of a side task"),
    key("auxiliary.@task.api_key", Secret, "", "Key of a side task's endpoint"),
    key("auxiliary.@task.key_env", Text, "", "Variable that holds the key"),
    key("auxiliary.@task.api_mode", Choice(MODES), "", "The wire dialect"),
    key("auxiliary.@task.timeout", Number, "", "Seconds a side task may take"),
    key("auxiliary.@task.download_timeout", Number, "30", "Seconds to fetch what is looked at"),
    key("auxiliary.@task.max_concurrency", Integer, "3", "Side tasks at once"),
    key("auxiliary.@task.enabled", Flag, "true", "Whether the side task runs"),
    key("auxiliary.@task.extra_body", Map, "", "Fields added to the request"),
    key("auxiliary.@task.reasoning_effort", Text, "", "How hard to think"),
    key("auxiliary.@task.fallback_chain", Any, "", "What to use when it fails, in order"),
    key("auxiliary.@task.language", Text, "", "Language of the answer"),
];
