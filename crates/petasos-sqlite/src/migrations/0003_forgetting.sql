-- What is deleted leaves nothing behind in the indexes either.
INSERT INTO messages_words(messages_words, rank) VALUES ('secure-delete', 1);
INSERT INTO messages_trigrams(messages_trigrams, rank) VALUES ('secure-delete', 1);

-- When something was last done for the whole file.
CREATE TABLE chores (
  name  TEXT PRIMARY KEY NOT NULL,
  at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
