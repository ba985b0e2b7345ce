-- Scheduled jobs. `body` is JSON of whoever runs them; `next_ms` is empty when no instant is left.
CREATE TABLE jobs (
  id         TEXT PRIMARY KEY NOT NULL,
  name       TEXT NOT NULL,
  state      TEXT NOT NULL,
  why        TEXT NOT NULL DEFAULT '',
  body       TEXT NOT NULL,
  cursor_ms  INTEGER NOT NULL,
  next_ms    INTEGER,
  revision   INTEGER NOT NULL DEFAULT 0,
  maker      TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  changed_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX jobs_due ON jobs(next_ms) WHERE state = 'scheduled' AND next_ms IS NOT NULL;

-- What became of each due time: the unique index is what makes it run at most once.
CREATE TABLE occurrences (
  id           TEXT PRIMARY KEY NOT NULL,
  job          TEXT NOT NULL,
  trigger      TEXT NOT NULL,
  scheduled_ms INTEGER NOT NULL,
  attempt      INTEGER NOT NULL,
  state        TEXT NOT NULL,
  reason       TEXT NOT NULL,
  first_ms     INTEGER NOT NULL,
  folded       INTEGER NOT NULL,
  late_ms      INTEGER NOT NULL,
  session      TEXT NOT NULL DEFAULT '',
  called       INTEGER NOT NULL DEFAULT 0,
  owner        TEXT NOT NULL DEFAULT '',
  beat_ms      INTEGER NOT NULL DEFAULT 0,
  started_ms   INTEGER,
  ended_ms     INTEGER,
  wish         TEXT NOT NULL DEFAULT 'none',
  detail       TEXT NOT NULL DEFAULT '{}'
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX occurrences_once ON occurrences(job, trigger, scheduled_ms, attempt);
CREATE INDEX occurrences_active ON occurrences(job, state)
  WHERE state IN ('due', 'claimed', 'running');
CREATE INDEX occurrences_of ON occurrences(job, id);

CREATE TABLE schedulers (
  owner   TEXT PRIMARY KEY NOT NULL,
  kind    TEXT NOT NULL,
  pid     INTEGER NOT NULL,
  woke_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
