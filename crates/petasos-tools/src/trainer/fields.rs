//! The fields of an environment's configuration, asked of the environment in a short run of its
//! interpreter that can write nothing and reach nobody.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use petasos_contract::environment::{Ending, Sandbox, SandboxLevel};
use petasos_contract::processes::{HelperSandbox, HelperSpec};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::{Environment, Seat, word};
use crate::trouble::Trouble;

const WITHIN: Duration = Duration::from_mins(1);
const OUTPUT_MAX: u64 = 1 << 20;
const GRACE: Duration = Duration::from_millis(300);
/// Before the answer, so that what an import prints is not taken for it.
const MARK: &str = "petasos-fields:";

/// One field.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Field {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) default: Value,
    #[serde(default)]
    pub(crate) description: String,
}

/// Loads the file, asks its class for the configuration, prints the fields.
const PROGRAM: &str = r#"
import importlib.util, json, sys
path, wanted, mark = sys.argv[1:4]
spec = importlib.util.spec_from_file_location("environment", path)
module = importlib.util.module_from_spec(spec)
sys.modules["environment"] = module
spec.loader.exec_module(module)
try:
    config = type(getattr(module, wanted).config_init()[0])
except Exception:
    from atroposlib.envs.base import BaseEnvConfig as config
def plain(value):
    value = getattr(value, "value", value)
    try:
        json.dumps(value)
        return value
    except TypeError:
        return None if "Undefined" in repr(value) else str(value)
fields = {}
for name, info in config.model_fields.items():
    kind = info.annotation
    fields[name] = {
        "type": str(kind) if hasattr(kind, "__origin__") else getattr(kind, "__name__", str(kind)),
        "default": plain(info.default),
        "description": info.description or "",
    }
print(mark + json.dumps(fields))
"#;

/// Asks.
pub(super) async fn ask(
    seat: &Seat<'_>,
    environment: &Environment,
) -> Result<BTreeMap<String, Field>, Trouble> {
    let processes = seat.ports.processes.as_ref();
    let processes = processes
        .ok_or_else(|| Trouble::new("missing_setup", "programs cannot be started here"))?;
    let words = [
        &word(&seat.place.python),
        "-B",
        "-c",
        PROGRAM,
        &environment.file_path,
        &environment.class_name,
        MARK,
    ];
    let argv = words.iter().map(|it| (*it).to_owned()).collect();
    let mut spec = HelperSpec::new("fields of an environment", argv, &seat.cx.settings);
    spec.cwd.clone_from(&seat.place.folder);
    spec.env.insert("PYTHONPATH".to_owned(), word(&seat.place.folder));
    let sandbox = Sandbox { level: SandboxLevel::Readonly, ..Sandbox::default() };
    spec.sandbox = HelperSandbox::Given(sandbox);
    let failed = |why: String| {
        let told = format!("the fields of `{}` cannot be read: {why}", environment.name);
        Trouble::new("upstream", told)
    };
    let helper = processes.start(spec).await.map_err(|error| failed(error.to_string()))?;
    let hand = Arc::clone(&helper.hand);
    drop(helper.stdin);
    let work = async {
        let (ending, out, err) =
            tokio::join!(hand.exited(), text(helper.stdout), text(helper.stderr));
        (ending, out, err)
    };
    let ended = tokio::select! {
        biased;
        () = seat.cx.cancel.cancelled() => None,
        ended = tokio::time::timeout(WITHIN, work) => ended.ok(),
    };
    let Some((ending, out, err)) = ended else {
        hand.kill(GRACE).await.map_err(|error| failed(error.to_string()))?;
        return Err(failed("it took longer than 60 s, or the call was cancelled".to_owned()));
    };
    let last = || err.trim().lines().last().unwrap_or("it said nothing").to_owned();
    match ending.map_err(|error| failed(error.to_string()))? {
        Ending::Code(0) => {}
        _ => return Err(failed(last())),
    }
    let answer = out.lines().find_map(|line| line.strip_prefix(MARK)).ok_or_else(|| failed(last()));
    serde_json::from_str(answer?).map_err(|error| failed(error.to_string()))
}

pub(super) async fn text(from: impl AsyncRead + Unpin) -> String {
    let mut bytes = Vec::new();
    // What was read before a broken pipe is what there is.
    from.take(OUTPUT_MAX).read_to_end(&mut bytes).await.unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}
