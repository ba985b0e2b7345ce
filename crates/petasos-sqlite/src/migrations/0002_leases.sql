-- Who may add to a conversation. `born` tells a process from a later one with its number, `machine`
-- a process that can be looked at from one that cannot.
DROP TABLE locks;
CREATE TABLE leases (
  session  TEXT PRIMARY KEY NOT NULL,
  token    TEXT NOT NULL,
  store    TEXT NOT NULL,
  purpose  TEXT NOT NULL,
  pid      INTEGER NOT NULL,
  born     TEXT NOT NULL,
  machine  TEXT NOT NULL,
  host     TEXT NOT NULL,
  since_ms INTEGER NOT NULL,
  until_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
