-- Whether a conversation only plans: nothing is changed until a person says go, also after a resume.
ALTER TABLE sessions ADD COLUMN planning INTEGER NOT NULL DEFAULT 0;
