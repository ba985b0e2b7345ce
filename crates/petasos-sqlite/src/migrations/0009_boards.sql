-- Boards: tasks, links, comments, claims. A claim is its lock; the mark says which process made it.
CREATE TABLE board_tasks (
  id              TEXT PRIMARY KEY NOT NULL,
  board           TEXT NOT NULL,
  title           TEXT NOT NULL,
  body            TEXT NOT NULL,
  assignee        TEXT NOT NULL,
  status          TEXT NOT NULL,
  tenant          TEXT,
  priority        INTEGER NOT NULL,
  workspace_kind  TEXT NOT NULL,
  workspace_path  TEXT,
  project         TEXT,
  idempotency_key TEXT,
  max_runtime_s   INTEGER,
  skills          TEXT NOT NULL,
  goal            TEXT,
  created_by      TEXT NOT NULL,
  session         TEXT,
  label           TEXT NOT NULL,
  failures        INTEGER NOT NULL DEFAULT 0,
  block_kind      TEXT,
  block_reason    TEXT,
  summary         TEXT,
  result          TEXT,
  metadata        TEXT NOT NULL DEFAULT 'null',
  run_id          INTEGER,
  claim_lock      TEXT,
  claim_mark      TEXT,
  claim_until_ms  INTEGER,
  beat_ms         INTEGER,
  not_before_ms   INTEGER,
  created_ms      INTEGER NOT NULL,
  updated_ms      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX board_tasks_by ON board_tasks(board, status, priority DESC, created_ms);
CREATE UNIQUE INDEX board_tasks_key ON board_tasks(board, idempotency_key)
  WHERE idempotency_key IS NOT NULL;

CREATE TABLE board_links (
  parent TEXT NOT NULL REFERENCES board_tasks(id) ON DELETE CASCADE,
  child  TEXT NOT NULL REFERENCES board_tasks(id) ON DELETE CASCADE,
  PRIMARY KEY (parent, child)
) STRICT, WITHOUT ROWID;
CREATE INDEX board_links_of ON board_links(child);

CREATE TABLE board_runs (
  id         INTEGER PRIMARY KEY,
  task       TEXT NOT NULL REFERENCES board_tasks(id) ON DELETE CASCADE,
  profile    TEXT NOT NULL,
  started_ms INTEGER NOT NULL,
  ended_ms   INTEGER,
  outcome    TEXT,
  note       TEXT
) STRICT;
CREATE INDEX board_runs_of ON board_runs(task);

CREATE TABLE board_comments (
  id     INTEGER PRIMARY KEY,
  task   TEXT NOT NULL REFERENCES board_tasks(id) ON DELETE CASCADE,
  author TEXT NOT NULL,
  body   TEXT NOT NULL,
  label  TEXT NOT NULL,
  at_ms  INTEGER NOT NULL
) STRICT;
CREATE INDEX board_comments_of ON board_comments(task);

CREATE TABLE board_events (
  id    INTEGER PRIMARY KEY,
  task  TEXT NOT NULL REFERENCES board_tasks(id) ON DELETE CASCADE,
  kind  TEXT NOT NULL,
  actor TEXT NOT NULL,
  note  TEXT NOT NULL,
  at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX board_events_of ON board_events(task);

CREATE TABLE board_files (
  id           INTEGER PRIMARY KEY,
  task         TEXT NOT NULL REFERENCES board_tasks(id) ON DELETE CASCADE,
  name         TEXT NOT NULL,
  content_type TEXT,
  size         INTEGER NOT NULL,
  sha256       TEXT NOT NULL,
  source       TEXT,
  label        TEXT NOT NULL,
  at_ms        INTEGER NOT NULL
) STRICT;
CREATE INDEX board_files_of ON board_files(task);
