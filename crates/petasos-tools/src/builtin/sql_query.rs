//! `sql_query`: one statement for a SQLite file or a PostgreSQL database, for reading unless asked.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use petasos_contract::effect::{Effect, Effects};
use petasos_contract::tool::{Example, InPlanMode, Limit, Provenance};
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Plan, Settings, Tool, ToolDef, ToolError, ToolOutput,
};
use petasos_redact::Redactor;
use petasos_store::{Databases, SqlAsk, SqlFiles, SqlRows, StoreError};
use petasos_vendors::postgres::{self, Address, PostgresError};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::files::judged;
use crate::trouble::Trouble;
use crate::vendors;

pub(super) static TOOL: ToolDef = ToolDef {
    name: "sql_query",
    toolset: "sql",
    description: "Ask a SQLite or PostgreSQL database",
    emoji: "🗃️",
    provenance: Provenance::Foreign,
    result_chars_max: Limit::Chars(100_000),
    in_plan_mode: InPlanMode::ByEffects,
    schema,
    examples: &[
        Example {
            title: "a database of the settings",
            args: r#"{"database":"shop","query":"SELECT count(*) AS hats FROM (VALUES (1), (2)) AS stock"}"#,
            shows: r#""hats""#,
        },
        Example {
            title: "a file that is not there is not made",
            args: r#"{"database":"nowhere.db","query":"SELECT 1"}"#,
            shows: "not_found",
        },
        Example {
            title: "a name that nobody configured",
            args: r#"{"database":"warehouse","query":"SELECT 1"}"#,
            shows: "sql.databases",
        },
    ],
    build: |ports| Arc::new(SqlQuery(Databases::of(ports.databases.as_ref()))),
    ..ToolDef::USUAL
};

const ROWS_USUAL: usize = 100;
const ROWS_MAX: usize = 1000;
const TIME_USUAL: u64 = 30;
const TIME_MAX: u64 = 300;

fn schema() -> Value {
    json!({
        "description": "Run one SQL statement on a SQLite file or a configured database. The \
            database is opened for reading: a statement that changes something needs write, and a \
            person's consent. Parameters are ? or $1, $2, …: never write values into the text.",
        "parameters": {
            "type": "object",
            "properties": {
                "database": {
                    "type": "string",
                    "description": "A name from sql.databases, or the path of a SQLite file"
                },
                "query": { "type": "string", "description": "One statement" },
                "params": {
                    "type": "array",
                    "items": {},
                    "description": "Values of its parameters, in order"
                },
                "limit": {
                    "type": "integer",
                    "description": "How many rows to show",
                    "default": ROWS_USUAL,
                    "minimum": 1,
                    "maximum": ROWS_MAX
                },
                "write": {
                    "type": "boolean",
                    "description": "Whether it may change the database",
                    "default": false
                },
                "timeout_seconds": {
                    "type": "integer",
                    "description": "How long it may take",
                    "default": TIME_USUAL,
                    "minimum": 1,
                    "maximum": TIME_MAX
                }
            },
            "required": ["database", "query"],
        },
    })
}

#[derive(Deserialize)]
struct Input {
    query: String,
    #[serde(default)]
    params: Vec<Value>,
    limit: Option<usize>,
    #[serde(default)]
    write: bool,
    timeout_seconds: Option<u64>,
}

/// Where the statement goes.
enum Place {
    File(PathBuf),
    Server { name: String, address: Address },
}

/// One entry of `sql.databases`.
#[derive(Deserialize)]
struct Entry {
    url: Option<String>,
    path: Option<String>,
    password_env: Option<String>,
    ca_cert: Option<PathBuf>,
}

fn place(database: &str, cx: &CallContext) -> Result<Place, Trouble> {
    let settings = &cx.settings;
    let listed = settings.get("sql.databases").and_then(|all| all.get(database));
    let Some(listed) = listed else { return file(database, cx) };
    let unusable =
        |why: String| Trouble::new("missing_setup", format!("`sql.databases.{database}`: {why}"));
    let entry: Entry =
        serde_json::from_value(listed.clone()).map_err(|error| unusable(error.to_string()))?;
    match (entry.url, entry.path) {
        (None, Some(path)) => Ok(Place::File(judged::found(&path, cx))),
        (Some(url), None) => {
            let password = entry.password_env.map(|name| secret(&name, settings)).transpose();
            let password = password.map_err(unusable)?;
            let address = Address::read(&url, password, entry.ca_cert);
            let address = address.map_err(|error| unusable(error.to_string()))?;
            Ok(Place::Server { name: database.to_owned(), address })
        }
        _ => Err(unusable("needs `url` or `path`, and not both".to_owned())),
    }
}

fn secret(name: &str, settings: &Settings) -> Result<petasos_contract::Secret, String> {
    let variable = settings.variable(name).map(|it| it.value.clone());
    variable.ok_or_else(|| format!("the variable `{name}` is not set"))
}

/// A path is meant when it looks like one; a bare word is a name that nobody configured.
fn file(text: &str, cx: &CallContext) -> Result<Place, Trouble> {
    let is_path = text.contains('/') || Path::new(text).extension().is_some();
    if is_path {
        return Ok(Place::File(judged::found(text, cx)));
    }
    let known = cx.settings.get("sql.databases").and_then(Value::as_object);
    let known: Vec<&str> = known.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let why = format!("`{text}` is no path and no name of `sql.databases`");
    Err(Trouble::new("not_found", why).with("candidates", known))
}

struct SqlQuery(Option<Arc<dyn SqlFiles>>);

impl Tool for SqlQuery {
    fn plan<'a>(
        &'a self,
        args: Args,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Plan, ToolError>> {
        let writes = args.get("write") == Some(&Value::Bool(true));
        let place = place(args.text("database").unwrap_or_default(), cx);
        let effects = match &place {
            Ok(Place::File(path)) if writes => {
                Effects::one(Effect::Read(path.clone())).and(Effect::Write(path.clone()))
            }
            Ok(Place::File(path)) => Effects::one(Effect::Read(path.clone())),
            Ok(Place::Server { name, address }) => {
                let reach = Effects::one(Effect::Reach(address.host.clone()));
                if writes {
                    reach.and(Effect::Actuate { target: format!("sql:{name}"), guarded: true })
                } else {
                    reach
                }
            }
            Err(_) => Effects::none(),
        };
        let plan = Plan::new(args).with_effects(effects).with_work(place);
        Box::pin(std::future::ready(Ok(plan)))
    }

    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let input: Input = cleared.args().clone().parse()?;
            let place: Result<Place, Trouble> = cleared.into_work()?;
            let told = match place {
                Ok(place) => vendors::until_cancelled(cx, Box::pin(self.ask(place, input))).await,
                Err(trouble) => Err(trouble),
            };
            let mut value = told.unwrap_or_else(Trouble::unsuccessful);
            Redactor::of(&cx.settings).value(&mut value);
            Ok(ToolOutput::json(&value))
        })
    }
}

impl SqlQuery {
    async fn ask(&self, place: Place, input: Input) -> Result<Value, Trouble> {
        let rows_max = input.limit.unwrap_or(ROWS_USUAL).clamp(1, ROWS_MAX);
        let seconds = input.timeout_seconds.unwrap_or(TIME_USUAL).clamp(1, TIME_MAX);
        let within = Duration::from_secs(seconds);
        let (sql, params, writes) = (input.query, input.params, input.write);
        match place {
            Place::File(path) => {
                let files = self.0.as_ref();
                let files = files.ok_or_else(|| {
                    Trouble::new("missing_setup", "this program opens no database files")
                })?;
                if !path.is_file() {
                    let why = format!("there is no database file `{}`", path.display());
                    return Err(Trouble::new("not_found", why));
                }
                let ask = SqlAsk { path, sql, params, rows_max, writes, within };
                files.query(ask).await.map(|rows| told(&rows)).map_err(|error| refused(&error))
            }
            Place::Server { address, .. } => {
                let ask = postgres::Ask { sql, params, rows_max, writes, within };
                let rows = postgres::query(&address, &ask).await.map_err(|error| failed(&error))?;
                let tag = rows.tag;
                let mut value = told(&SqlRows {
                    columns: rows.columns,
                    rows: rows.rows,
                    truncated: rows.truncated,
                    changed: None,
                });
                value["status"] = tag.into();
                Ok(value)
            }
        }
    }
}

fn told(rows: &SqlRows) -> Value {
    let mut value = json!({
        "success": true,
        "columns": rows.columns,
        "row_count": rows.rows.len(),
        "rows": rows.rows,
        "truncated": rows.truncated,
    });
    if let Some(changed) = rows.changed {
        value["changed"] = changed.into();
    }
    value
}

fn refused(error: &StoreError) -> Trouble {
    match error {
        StoreError::Slow { .. } => Trouble::new("timeout", "the query took too long and was ended"),
        StoreError::Failed(why) if why.contains("opened for reading") => {
            Trouble::new("blocked_policy", format!("{why}; ask again with write if it is meant"))
        }
        error => Trouble::new("upstream", error.to_string()),
    }
}

fn failed(error: &PostgresError) -> Trouble {
    let kind = match error {
        PostgresError::Address(_) => "missing_setup",
        PostgresError::Auth(_) => "auth",
        PostgresError::Slow(_) => "timeout",
        PostgresError::NotReading | PostgresError::Calls(_) => "blocked_policy",
        // A read-only transaction that was asked to write.
        PostgresError::Server { code, .. } if code == "25006" => "blocked_policy",
        PostgresError::Server { code, .. } if code == "57014" => "timeout",
        PostgresError::Connect { .. }
        | PostgresError::Protocol(_)
        | PostgresError::Server { .. } => "upstream",
    };
    Trouble::new(kind, error.to_string())
}
