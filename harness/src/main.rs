//! The command line of lakestream-certify.

use std::process::ExitCode;

fn main() -> ExitCode {
    harness::cli::main()
}
