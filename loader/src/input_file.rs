//! Files that the user names: read whole, and never more than a bound of them.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use thiserror::Error;

/// Why a file was not read.
#[derive(Debug, Error)]
pub enum FileError {
    /// The system refused.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is too large.
    #[error("{} has more than {most_bytes} bytes, the most that are read of it", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The bound.
        most_bytes: u64,
    },
}

/// The bytes of a file that has at most `most_bytes` of them. What is no regular file (a pipe, a device) is read up to its end, or to
/// the bound.
///
/// # Errors
/// [`FileError`], naming the file.
pub fn read(path: &Path, most_bytes: u64) -> Result<Vec<u8>, FileError> {
    let failed = |source| FileError::Io { path: path.into(), source };
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(most_bytes + 1).read_to_end(&mut bytes)).map_err(failed)?;
    if bytes.len() as u64 > most_bytes {
        return Err(FileError::TooLarge { path: path.into(), most_bytes });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_up_to_their_bound_and_no_further() {
        let path = std::env::temp_dir().join(format!("zapring-input-file-{}", std::process::id()));
        std::fs::write(&path, "12345").expect("written");
        assert_eq!(read(&path, 5).expect("fits"), b"12345");
        let error = read(&path, 4).expect_err("too large").to_string();
        assert!(error.contains("more than 4 bytes") && error.contains("zapring-input-file"), "{error}");
        std::fs::remove_file(&path).expect("removed");
        let error = read(&path, 5).expect_err("gone").to_string();
        assert!(error.contains("cannot read") && error.contains("No such file"), "{error}");
        assert!(matches!(read(Path::new("/dev/zero"), 1000), Err(FileError::TooLarge { .. })));
    }
}
