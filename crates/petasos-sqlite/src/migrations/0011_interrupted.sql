-- Due times that were interrupted are looked for again and again; there are few of them.
CREATE INDEX occurrences_interrupted ON occurrences(scheduled_ms) WHERE state = 'interrupted';
