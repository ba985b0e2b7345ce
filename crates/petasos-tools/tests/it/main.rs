//! The built-in tools through their public door: definitions, `effects` and `run`.

#[cfg(test)]
mod bench;
mod family;
mod read_file;
mod search_files;
