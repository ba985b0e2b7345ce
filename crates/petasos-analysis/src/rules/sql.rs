//! Drops, truncates or empties a table or database.

use super::cloud_delete::has_method;
use crate::flow::call::Call;
use crate::rule::{Check, Rule, Signal};
use crate::sql;
use crate::words::lists;

pub(super) static RULE: Rule = Rule {
    key: "destructive SQL",
    aliases: &["SQL DROP", "SQL TRUNCATE", "SQL DELETE without WHERE"],
    description: "drops, truncates or empties a table or database",
    checks: &[
        Check::Call(
            "psql mysql mariadb sqlite3 sqlite sqlcmd duckdb clickhouse-client clickhouse \
                cqlsh bq snowsql usql pgcli mycli litecli cockroach isql tsql sqlplus hive \
                beeline impala-shell presto trino spark-sql osql rqlite influx dbt d1 wrangler \
                turso supabase vertica vsql athena heroku",
            check,
        ),
        Check::Call("redis-cli valkey-cli keydb-cli", redis),
        Check::Call("curl", deletes_index),
        Check::Call("nc ncat netcat telnet socat", wire),
        Check::Signal(Signal::DestructiveSql),
    ],
    examples: include_str!("sql.txt"),
    ..Rule::ASK
};

fn check(call: &Call<'_>) -> bool {
    let given = call.args.iter().map(|arg| arg.text.as_str()).filter(|text| text.len() > 5);
    given.chain(call.stdin.text.as_deref()).any(|text| {
        let long =
            ["--command=", "--execute=", "--query="].iter().find_map(|it| text.split_once(it));
        let text = long.map_or(text, |(_, sql)| sql);
        let short = ["-c", "-e", "-Q"].iter().find_map(|name| text.strip_prefix(name));
        let text = short.unwrap_or(text);
        sql::is_destructive(text)
    })
}

/// Commands of a data store typed into a bare connection.
fn wire(call: &Call<'_>) -> bool {
    let store = call.args.iter().any(|arg| arg.text.contains("6379") || arg.text.contains("11211"));
    call.stdin.text.as_deref().is_some_and(|text| {
        text.lines().filter_map(|line| line.split_whitespace().next()).any(|word| {
            let word = word.to_ascii_uppercase();
            matches!(word.as_str(), "FLUSHALL" | "FLUSHDB" | "FLUSH_ALL")
                || store && word == "SHUTDOWN"
        })
    })
}

/// `curl -X DELETE` against a data store on its usual port.
fn deletes_index(call: &Call<'_>) -> bool {
    call.args.iter().any(|arg| arg.text.contains("/_delete_by_query"))
        || has_method(call, "delete")
            && call.args.iter().any(|arg| {
                [":9200/", ":9201/", "_all", ":8086/", ":5984/"]
                    .iter()
                    .any(|mark| arg.text.contains(mark))
            })
}

fn redis(call: &Call<'_>) -> bool {
    const VALUES: &str = "-h -p -s -a -n -u -r -i --user --pass --pattern -d -t";
    let words =
        |text: &str| lists("FLUSHALL FLUSHDB SHUTDOWN DEBUG SWAPDB", &text.to_ascii_uppercase());
    let mut rest = call.args.iter();
    let mut command = Vec::new();
    while let Some(arg) = rest.next() {
        if command.is_empty() && arg.text.starts_with('-') {
            if lists(VALUES, &arg.text) {
                rest.next();
            }
        } else {
            command.push(arg.text.to_ascii_uppercase());
        }
    }
    let at = |position: usize| command.get(position).map(String::as_str).unwrap_or_default();
    let flushes = |text: &str| text.contains("FLUSH") || text.contains("SHUTDOWN");
    let script = at(0).starts_with("EVAL") && command.iter().any(|word| flushes(word))
        || call.long("--eval")
            && call.stdin.text.as_ref().is_some_and(|text| flushes(&text.to_ascii_uppercase()));
    let setting = at(0) == "CONFIG" && at(1) == "SET" && matches!(at(2), "DIR" | "DBFILENAME");
    words(at(0))
        || at(0).split_whitespace().next().is_some_and(words)
        || script
        || setting
        || call.stdin.text.as_deref().is_some_and(|text| {
            text.lines().filter_map(|line| line.split_whitespace().next()).any(words)
        })
        || call.bulk
            && call.args.iter().any(|arg| {
                arg.text.eq_ignore_ascii_case("del") || arg.text.eq_ignore_ascii_case("unlink")
            })
}
