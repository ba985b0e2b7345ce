//! Saves the choice: provider, address and model together, so that none is left of another.

use std::path::PathBuf;

use petasos_config::{Inputs, edit, home};
use serde_json::Value;

use super::find::Candidate;
use crate::report::Report;

/// Writes it and gives the file.
pub(super) fn save(inputs: &Inputs, chosen: &Candidate) -> Result<PathBuf, Report> {
    let file = home::places(inputs)?.config;
    edit::set(&file, "model.provider", &Value::from(chosen.provider.as_str()))?;
    match &chosen.base_url {
        Some(url) => edit::set(&file, "model.base_url", &Value::from(url.as_str()))?,
        None => edit::unset(&file, "model.base_url")?,
    };
    if let Some(model) = &chosen.model {
        edit::set(&file, "model.default", &Value::from(model.as_str()))?;
    }
    Ok(file)
}

/// Writes how commands are confined.
pub(super) fn sandbox(inputs: &Inputs, level: &str) -> Result<(), Report> {
    let file = home::places(inputs)?.config;
    edit::set(&file, "terminal.sandbox", &Value::from(level))?;
    Ok(())
}
