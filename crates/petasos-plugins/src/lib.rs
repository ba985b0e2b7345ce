//! Code of others: plugins over a pipe and hooks that are programs.
