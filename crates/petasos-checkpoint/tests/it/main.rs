//! Copies of real workspaces, made and restored through the terminal of this machine.

#[cfg(test)]
mod line;
#[cfg(test)]
mod orphans;
#[cfg(test)]
mod project;
#[cfg(test)]
mod torn;
#[cfg(test)]
mod ways;
