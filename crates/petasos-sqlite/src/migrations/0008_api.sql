-- Tokens of the API server, idempotency keys, deliveries of webhooks.
CREATE TABLE api_tokens (
  name       TEXT PRIMARY KEY NOT NULL,
  digest     BLOB NOT NULL UNIQUE,
  scopes     TEXT NOT NULL,
  toolsets   TEXT,
  created_ms INTEGER NOT NULL,
  expires_ms INTEGER,
  used_ms    INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE api_runs (
  id         TEXT PRIMARY KEY NOT NULL,
  owner      TEXT NOT NULL,
  session    TEXT NOT NULL,
  status     TEXT NOT NULL,
  about      TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  ended_ms   INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX api_runs_open ON api_runs(created_ms) WHERE ended_ms IS NULL;
CREATE INDEX api_runs_ended ON api_runs(ended_ms) WHERE ended_ms IS NOT NULL;

CREATE TABLE api_run_events (
  run    TEXT NOT NULL REFERENCES api_runs(id) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  event  TEXT NOT NULL,
  PRIMARY KEY (run, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE api_once (
  place BLOB PRIMARY KEY NOT NULL,
  body  BLOB NOT NULL,
  run   TEXT NOT NULL,
  at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX api_once_at ON api_once(at_ms);
CREATE INDEX api_once_run ON api_once(run);

CREATE TABLE api_responses (
  id      TEXT PRIMARY KEY NOT NULL,
  owner   TEXT NOT NULL,
  session TEXT NOT NULL,
  seq     INTEGER,
  body    TEXT NOT NULL,
  used_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX api_responses_used ON api_responses(used_ms);

CREATE TABLE webhook_seen (
  route    TEXT NOT NULL,
  delivery TEXT NOT NULL,
  at_ms    INTEGER NOT NULL,
  PRIMARY KEY (route, delivery)
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_seen_at ON webhook_seen(at_ms);
