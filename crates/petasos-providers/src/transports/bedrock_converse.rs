//! Amazon Bedrock Converse, over its binary event stream.

mod fold;
mod request;

use petasos_contract::model::Reason;

use crate::mode::Wire;
use crate::transport::TransportDef;
use crate::transport::decode::Framed;

/// The dialect.
pub(super) static TRANSPORT: TransportDef = TransportDef {
    wire: Wire::BedrockConverse,
    name: "bedrock_converse",
    codes: &[
        ("AccessDeniedException", Reason::Auth),
        ("UnrecognizedClientException", Reason::Auth),
        ("ExpiredTokenException", Reason::Auth),
        ("InvalidSignatureException", Reason::Auth),
        ("ThrottlingException", Reason::RateLimit),
        ("ServiceQuotaExceededException", Reason::RateLimit),
        ("ServiceUnavailableException", Reason::Overloaded),
        ("ModelNotReadyException", Reason::Overloaded),
        ("ModelTimeoutException", Reason::Timeout),
        ("ModelStreamErrorException", Reason::ServerError),
        ("InternalServerException", Reason::ServerError),
        ("ResourceNotFoundException", Reason::ModelNotFound),
    ],
    takes: &["top_p", "stop"],
    encode: request::encode,
    decoder: |target, framing| Framed::boxed(fold::Conversed::new(target), framing),
    program: None,
};
