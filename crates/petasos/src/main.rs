//! The `petasos` program: reads its surroundings once and hands them on.

use std::process::ExitCode;

// musl's own allocator is slow under threads. Elsewhere the system's is as good and starts faster:
// mimalloc's first page cost half a millisecond here, a third of a whole `petasos --version`.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Both are read before their secrets are covered.
    let (words, inputs) =
        (std::env::args_os().collect::<Vec<_>>(), petasos_config::Inputs::from_process());
    petasos_terminal::make_private();
    petasos::cli::run(words, inputs)
}
