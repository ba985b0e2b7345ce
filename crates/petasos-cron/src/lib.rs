//! Schedules: when a job is due, who may run it, and what becomes of its reply.
