//! Copies of real workspaces, made and restored through the terminal of this machine.

#[cfg(test)]
mod ways;
