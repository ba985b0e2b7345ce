-- Conversations, the log of their messages, and two indexes over the words in it.
CREATE TABLE sessions (
  id            TEXT PRIMARY KEY NOT NULL,
  source        TEXT NOT NULL,
  title         TEXT UNIQUE,
  model         TEXT,
  provider      TEXT,
  system_prompt TEXT,
  cwd           TEXT,
  parent        TEXT,
  lineage       TEXT,
  root          TEXT NOT NULL,
  started_ms    INTEGER NOT NULL,
  updated_ms    INTEGER NOT NULL,
  ended_ms      INTEGER,
  end_reason    TEXT,
  archived      INTEGER NOT NULL DEFAULT 0,
  messages      INTEGER NOT NULL DEFAULT 0,
  last_seq      INTEGER,
  preview       TEXT NOT NULL DEFAULT '',
  input         INTEGER NOT NULL DEFAULT 0,
  output        INTEGER NOT NULL DEFAULT 0,
  cache_read    INTEGER NOT NULL DEFAULT 0,
  cache_write   INTEGER NOT NULL DEFAULT 0,
  reasoning     INTEGER NOT NULL DEFAULT 0,
  requests      INTEGER NOT NULL DEFAULT 0,
  cost_usd      REAL NOT NULL DEFAULT 0,
  imported_from TEXT
) STRICT;
CREATE INDEX sessions_newest ON sessions(updated_ms DESC);
CREATE INDEX sessions_root ON sessions(root);
CREATE INDEX sessions_parent ON sessions(parent);

-- Rows are added and flagged, never changed. `place` orders a conversation: a row that stands in
-- for hidden ones has the place of the last of them.
CREATE TABLE messages (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  session     TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  place       INTEGER NOT NULL,
  at_ms       INTEGER NOT NULL,
  role        TEXT NOT NULL,
  content     TEXT,
  parts       TEXT,
  reasoning   TEXT,
  calls       TEXT,
  replay      TEXT,
  call        TEXT,
  tool        TEXT,
  sent        TEXT,
  turn        TEXT,
  finish      TEXT,
  disposition TEXT,
  tokens      INTEGER NOT NULL DEFAULT 0,
  note        TEXT,
  active      INTEGER NOT NULL DEFAULT 1,
  sum         INTEGER NOT NULL
) STRICT;
CREATE INDEX messages_replayed ON messages(session, place, id);

-- What began and ended since the last stored result.
CREATE TABLE calls (
  session     TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  call        TEXT NOT NULL,
  ended       INTEGER NOT NULL DEFAULT 0,
  text        TEXT,
  disposition TEXT,
  at_ms       INTEGER NOT NULL,
  PRIMARY KEY (session, call)
) STRICT, WITHOUT ROWID;

CREATE TABLE usage (
  session     TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  model       TEXT NOT NULL,
  provider    TEXT NOT NULL,
  base_url    TEXT NOT NULL,
  mode        TEXT NOT NULL,
  task        TEXT NOT NULL,
  input       INTEGER NOT NULL DEFAULT 0,
  output      INTEGER NOT NULL DEFAULT 0,
  cache_read  INTEGER NOT NULL DEFAULT 0,
  cache_write INTEGER NOT NULL DEFAULT 0,
  reasoning   INTEGER NOT NULL DEFAULT 0,
  requests    INTEGER NOT NULL DEFAULT 0,
  cost_usd    REAL NOT NULL DEFAULT 0,
  cost_status TEXT NOT NULL,
  PRIMARY KEY (session, model, provider, base_url, mode, task)
) STRICT, WITHOUT ROWID;

CREATE TABLE locks (
  session  TEXT NOT NULL,
  purpose  TEXT NOT NULL,
  holder   TEXT NOT NULL,
  until_ms INTEGER NOT NULL,
  PRIMARY KEY (session, purpose)
) STRICT, WITHOUT ROWID;

-- The indexes see the beginning of long texts only: bulk output would outweigh all that was said.
CREATE VIEW messages_text AS
  SELECT id, substr(content, 1, 20000) AS content, tool, substr(calls, 1, 4000) AS calls
  FROM messages;
CREATE VIEW messages_marks AS
  SELECT id, substr(content, 1, CASE role WHEN 'tool' THEN 1000 ELSE 8000 END) AS content
  FROM messages;
CREATE VIRTUAL TABLE messages_words USING fts5(
  content, tool, calls,
  content = 'messages_text', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE messages_trigrams USING fts5(
  content, content = 'messages_marks', content_rowid = 'id', tokenize = 'trigram'
);
CREATE TRIGGER messages_indexed AFTER INSERT ON messages BEGIN
  INSERT INTO messages_words(rowid, content, tool, calls)
    VALUES (new.id, substr(new.content, 1, 20000), new.tool, substr(new.calls, 1, 4000));
  INSERT INTO messages_trigrams(rowid, content)
    VALUES (new.id, substr(new.content, 1, CASE new.role WHEN 'tool' THEN 1000 ELSE 8000 END));
END;
CREATE TRIGGER messages_unindexed AFTER DELETE ON messages BEGIN
  INSERT INTO messages_words(messages_words, rowid, content, tool, calls)
    VALUES ('delete', old.id, substr(old.content, 1, 20000), old.tool, substr(old.calls, 1, 4000));
  INSERT INTO messages_trigrams(messages_trigrams, rowid, content)
    VALUES ('delete', old.id,
            substr(old.content, 1, CASE old.role WHEN 'tool' THEN 1000 ELSE 8000 END));
END;
