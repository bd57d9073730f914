//! The command line of lakestream-certify.

fn main() {}
