-- What a person chose for one conversation (toolsets, model, provider), as JSON; it goes on with it.
ALTER TABLE sessions ADD COLUMN chosen TEXT NOT NULL DEFAULT '{}';
