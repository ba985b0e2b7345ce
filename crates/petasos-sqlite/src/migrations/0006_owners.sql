-- Whose a conversation is: the chat in which it is held. Without one it belongs to whoever sits at
-- the machine. Subagents and forks belong to whom their parent belongs to.
ALTER TABLE sessions ADD COLUMN platform TEXT;
ALTER TABLE sessions ADD COLUMN chat TEXT;
ALTER TABLE sessions ADD COLUMN thread TEXT;
ALTER TABLE sessions ADD COLUMN user TEXT;
CREATE INDEX sessions_owner ON sessions(platform, chat, user) WHERE platform IS NOT NULL;
