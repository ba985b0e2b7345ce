-- Questions to people. `state` is open, answered (nobody has heard the answer yet), taken, expired,
-- withdrawn or cancelled.
CREATE TABLE questions (
  id         TEXT PRIMARY KEY NOT NULL,
  number     INTEGER NOT NULL,
  session    TEXT NOT NULL,
  turn       TEXT NOT NULL,
  call       TEXT NOT NULL,
  kind       TEXT NOT NULL,
  digest     TEXT NOT NULL,
  body       TEXT NOT NULL,
  platform   TEXT NOT NULL,
  chat       TEXT NOT NULL,
  thread     TEXT,
  user       TEXT,
  opened_ms  INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  state      TEXT NOT NULL,
  answer     TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX questions_of ON questions(session, number);
CREATE INDEX questions_open ON questions(opened_ms) WHERE state IN ('open', 'answered');
