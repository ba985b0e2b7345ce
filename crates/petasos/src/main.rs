//! The `petasos` program: reads its surroundings once and hands them on.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    petasos::cli::run(std::env::args_os(), petasos_config::Inputs::from_process())
}
