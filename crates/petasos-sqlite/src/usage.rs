//! What requests used, as a `UsageStore`: a sum for each conversation, task and model.

use petasos_contract::BoxFuture;
use petasos_store::{
    StoreError, UsageEntry, UsageError, UsageFilter, UsageLine, UsageStore, UsageTotals,
};
use rusqlite::{Connection, Row, params_from_iter};

use crate::messages::unword;
use crate::sqlite::failed;
use crate::store::Store;
use crate::{owners, sessions};

impl UsageStore for Store {
    fn add<'a>(&'a self, entry: &'a UsageEntry) -> BoxFuture<'a, Result<(), UsageError>> {
        let (session, spent) = (entry.session.clone(), entry.spent.clone());
        let job = move |connection: &Connection| {
            // The owner of a row is the one of its conversation, whatever the entry says.
            sessions::head(connection, &session)?;
            sessions::spend(connection, &session, &spent)
        };
        Box::pin(async move { self.writer.write("usage", job).await.map_err(|error| told(&error)) })
    }

    fn totals<'a>(
        &'a self,
        filter: &'a UsageFilter,
    ) -> BoxFuture<'a, Result<UsageTotals, UsageError>> {
        let filter = filter.clone();
        let look = move |connection: &Connection| totals(connection, &filter);
        Box::pin(
            async move { self.readers.read("usage", look).await.map_err(|error| told(&error)) },
        )
    }
}

fn told(error: &StoreError) -> UsageError {
    UsageError(error.to_string())
}

fn totals(connection: &Connection, filter: &UsageFilter) -> Result<UsageTotals, StoreError> {
    let (seen, mut values) = owners::seen(&filter.scope, 1);
    let only = match &filter.session {
        Some(session) => {
            values.push(session.as_str().to_owned().into());
            format!("AND s.id = ?{}", values.len())
        }
        None => String::new(),
    };
    let sql = format!(
        "SELECT u.task, u.provider, u.model, sum(u.input), sum(u.output), sum(u.cache_read), \
         sum(u.cache_write), sum(u.reasoning), sum(u.requests), sum(u.cost_usd), \
         max(u.cost_status = 'unknown') \
         FROM usage u JOIN sessions s ON s.id = u.session WHERE 1 {seen} {only} \
         GROUP BY u.task, u.provider, u.model"
    );
    let mut statement = connection.prepare(&sql).map_err(failed)?;
    let rows = statement.query_map(params_from_iter(values), line).map_err(failed)?;
    let mut all = UsageTotals::default();
    for row in rows {
        match row.map_err(failed)? {
            Some(line) => all.lines.push(line),
            None => all.unread += 1,
        }
    }
    let key = |line: &UsageLine| (line.role, line.provider.clone(), line.model.clone());
    all.lines.sort_by_key(key);
    Ok(all)
}

/// A sum; none for a task that this version does not know.
fn line(row: &Row<'_>) -> rusqlite::Result<Option<UsageLine>> {
    let (task, provider, model): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
    let Some(role) = unword(&task) else { return Ok(None) };
    let mut line = UsageLine::new(role, &provider, &model);
    line.usage.input = row.get(3)?;
    line.usage.output = row.get(4)?;
    line.usage.cache_read = row.get(5)?;
    line.usage.cache_write = row.get(6)?;
    line.usage.reasoning = row.get(7)?;
    line.usage.requests = row.get(8)?;
    line.usd = row.get(9)?;
    line.has_unknown = row.get(10)?;
    Ok(Some(line))
}
