//! The command line of lakestream-certify.

use std::process::ExitCode;

/// A run makes some hundred thousand small, short-lived objects; the system's allocator took a fifth of its time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    harness::cli::main()
}
