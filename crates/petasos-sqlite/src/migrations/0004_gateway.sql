-- Messages that came in. `user`, `thread` and `session` are empty where there is none.
CREATE TABLE inbox (
  id          TEXT PRIMARY KEY NOT NULL,
  profile     TEXT NOT NULL,
  platform    TEXT NOT NULL,
  account     TEXT NOT NULL,
  kind        TEXT NOT NULL,
  chat        TEXT NOT NULL,
  thread      TEXT NOT NULL,
  user        TEXT NOT NULL,
  sender      TEXT NOT NULL,
  sender_name TEXT NOT NULL,
  dedup       TEXT NOT NULL,
  message     TEXT NOT NULL,
  sent_ms     INTEGER NOT NULL,
  received_ms INTEGER NOT NULL,
  event       TEXT NOT NULL,
  body        TEXT NOT NULL,
  media       TEXT NOT NULL,
  state       TEXT NOT NULL,
  reason      TEXT NOT NULL DEFAULT '',
  session     TEXT NOT NULL DEFAULT '',
  attempts    INTEGER NOT NULL DEFAULT 0,
  owner       TEXT NOT NULL DEFAULT '',
  changed_ms  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX inbox_once ON inbox(platform, account, dedup);
CREATE INDEX inbox_undone ON inbox(session, state, id)
  WHERE state IN ('accepted', 'queued', 'running');
CREATE INDEX inbox_settled ON inbox(platform, account, changed_ms)
  WHERE state NOT IN ('accepted', 'queued', 'running');

-- Messages that go out. `overtakes` tells the two lanes of a chat apart.
CREATE TABLE outbox (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  token      TEXT NOT NULL UNIQUE,
  platform   TEXT NOT NULL,
  account    TEXT NOT NULL,
  chat       TEXT NOT NULL,
  thread     TEXT NOT NULL,
  overtakes  INTEGER NOT NULL,
  class      TEXT NOT NULL,
  body       TEXT NOT NULL,
  media      TEXT NOT NULL,
  buttons    TEXT NOT NULL,
  reply_to   TEXT NOT NULL,
  inbox      TEXT NOT NULL,
  parts      TEXT NOT NULL DEFAULT '[]',
  sent       TEXT NOT NULL DEFAULT '[]',
  state      TEXT NOT NULL,
  uncertain  INTEGER NOT NULL DEFAULT 0,
  attempts   INTEGER NOT NULL DEFAULT 0,
  next_ms    INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  changed_ms INTEGER NOT NULL,
  error      TEXT NOT NULL DEFAULT '',
  owner      TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX outbox_undone ON outbox(platform, account, chat, thread, overtakes, id)
  WHERE state IN ('planned', 'sending', 'ambiguous');
CREATE INDEX outbox_of ON outbox(inbox) WHERE inbox != '';

CREATE TABLE routes (
  profile  TEXT NOT NULL,
  platform TEXT NOT NULL,
  account  TEXT NOT NULL,
  kind     TEXT NOT NULL,
  chat     TEXT NOT NULL,
  thread   TEXT NOT NULL,
  user     TEXT NOT NULL,
  session  TEXT NOT NULL,
  choices  TEXT NOT NULL DEFAULT '{}',
  used_ms  INTEGER NOT NULL,
  PRIMARY KEY (profile, platform, account, kind, chat, thread, user)
) STRICT, WITHOUT ROWID;
CREATE INDEX routes_session ON routes(session);

-- Who asked to be let in, and who was.
CREATE TABLE pairings (
  platform TEXT NOT NULL,
  user     TEXT NOT NULL,
  name     TEXT NOT NULL,
  salt     BLOB NOT NULL,
  digest   BLOB NOT NULL,
  asked_ms INTEGER NOT NULL,
  PRIMARY KEY (platform, user)
) STRICT, WITHOUT ROWID;
CREATE TABLE pairing_locks (
  platform TEXT PRIMARY KEY NOT NULL,
  wrong    INTEGER NOT NULL,
  until_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE people (
  platform TEXT NOT NULL,
  user     TEXT NOT NULL,
  name     TEXT NOT NULL,
  owner    INTEGER NOT NULL,
  since_ms INTEGER NOT NULL,
  PRIMARY KEY (platform, user)
) STRICT, WITHOUT ROWID;

CREATE TABLE targets (
  platform    TEXT NOT NULL,
  account     TEXT NOT NULL,
  chat        TEXT NOT NULL,
  thread      TEXT NOT NULL,
  name        TEXT NOT NULL,
  home        INTEGER NOT NULL DEFAULT 0,
  unreachable TEXT NOT NULL DEFAULT '',
  seen_ms     INTEGER NOT NULL,
  PRIMARY KEY (platform, account, chat, thread)
) STRICT, WITHOUT ROWID;

CREATE TABLE cursors (
  platform TEXT NOT NULL,
  account  TEXT NOT NULL,
  name     TEXT NOT NULL,
  value    TEXT NOT NULL,
  PRIMARY KEY (platform, account, name)
) STRICT, WITHOUT ROWID;
