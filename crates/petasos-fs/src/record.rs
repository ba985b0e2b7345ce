//! A JSON value in a file that several processes change.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::lock::lock;
use crate::replace::{Mode, write_locked};

/// A value in a file, which may not exist yet; readable by its owner only.
#[derive(Debug, Clone)]
pub struct Record {
    path: PathBuf,
}

impl Record {
    /// The record at this path.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The value; the default when there is no file.
    pub fn read<T: DeserializeOwned + Default>(&self) -> io::Result<T> {
        match fs::read(&self.path) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(T::default()),
            Err(error) => Err(error),
        }
    }

    /// Reads, changes and writes the value under its lock.
    pub fn edit<T, R>(&self, change: impl FnOnce(&mut T) -> R) -> io::Result<R>
    where
        T: Serialize + DeserializeOwned + Default,
    {
        let _lock = lock(&self.path)?;
        let mut value: T = self.read()?;
        let answer = change(&mut value);
        let mut text = serde_json::to_vec_pretty(&value)?;
        text.push(b'\n');
        write_locked(&self.path, &text, Mode::Exactly(0o600))?;
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::thread;

    use super::*;

    #[test]
    fn edits_of_several_writers_are_all_there() {
        let folder = tempfile::tempdir().unwrap();
        let record = Record::at(folder.path().join("new").join("numbers.json"));
        assert!(record.read::<BTreeMap<String, u32>>().unwrap().is_empty());
        thread::scope(|scope| {
            for writer in 0..4 {
                let record = record.clone();
                scope.spawn(move || {
                    for number in 0..10 {
                        let insert = |map: &mut BTreeMap<String, u32>| {
                            map.insert(format!("{writer}-{number}"), number);
                        };
                        record.edit(insert).unwrap();
                    }
                });
            }
        });
        assert_eq!(record.read::<BTreeMap<String, u32>>().unwrap().len(), 40);
    }
}
