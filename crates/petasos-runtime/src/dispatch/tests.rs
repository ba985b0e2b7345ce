//! The one door, from outside: whatever a call does, exactly one well-formed result comes back.

mod approval;
mod coercion;
mod deadlines;
mod faults;
mod frames;
mod guardrails;
mod interrupts;
mod listeners;
mod outcomes;
mod results;
