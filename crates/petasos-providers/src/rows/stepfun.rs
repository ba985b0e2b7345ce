//! StepFun Step Plan.

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "stepfun",
    name: "StepFun Step Plan",
    aliases: &["step", "stepfun-coding-plan"],
    base_url: "https://api.stepfun.ai/step_plan/v1",
    base_url_env: &["STEPFUN_BASE_URL"],
    key_env: &["STEPFUN_API_KEY"],
    key_hosts: &["api.stepfun.ai", "api.stepfun.com"],
    rank: Some(7),
    models_dev_id: Some("stepfun"),
    default_model: Some("step-3.5-flash"),
    aux_model: Some("step-3.5-flash"),
    ..Row::EMPTY
};
