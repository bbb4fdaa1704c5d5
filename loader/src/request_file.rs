//! Request files: one raw request each, with a weight behind an `@`.

use std::path::Path;

use bytes::Bytes;
use thiserror::Error;

use crate::{
    expect::Expect,
    input_file::{self, FileError},
    limits::{MAX_REQUEST_FILE_BYTES, MAX_WEIGHT},
    mix::{Mix, MixError, MixSource, NamedRequest, Running},
    raw::{self, RawError},
    target::WireName,
};

/// Why request files cannot be sent.
#[derive(Debug, Error)]
pub enum RequestFileError {
    /// A weight that is none.
    #[error(
        "{given:?}: the weight behind the last @ must be from 1 to {MAX_WEIGHT}; a file whose name ends so is written with one, as in x@99@1"
    )]
    Weight {
        /// What was given.
        given: String,
    },
    /// A file that cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file that holds something else than one request.
    #[error("{path} is not one {wire} request: {source}")]
    Raw {
        /// The file.
        path: String,
        /// The wire's name.
        wire: &'static str,
        /// Where and what.
        source: RawError,
    },
    /// Files that do not go together.
    #[error(transparent)]
    Mix(#[from] MixError),
}

/// A path and its weight: `PATH` or `PATH@WEIGHT`. What stands behind the last `@` is a weight where it is all digits.
///
/// # Errors
/// [`RequestFileError::Weight`].
fn split(given: &str) -> Result<(&str, u32), RequestFileError> {
    match given.rsplit_once('@') {
        Some((path, digits)) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            let weight = digits.parse().ok().filter(|weight| (1..=MAX_WEIGHT).contains(weight));
            weight.map(|weight| (path, weight)).ok_or_else(|| RequestFileError::Weight { given: given.into() })
        }
        _ => Ok((given, 1)),
    }
}

/// Reads and checks request files for a wire; `expect` is what all of them shall be answered with.
///
/// # Errors
/// [`RequestFileError`], naming the file.
pub fn read_all(given: &[String], wire: WireName, expect: &Expect) -> Result<Mix, RequestFileError> {
    let mut running = Running::of(given.len())?;
    let mut read_one = |given: &String| {
        let (path, weight) = split(given)?;
        let bytes = Bytes::from(input_file::read(Path::new(path), MAX_REQUEST_FILE_BYTES)?);
        running.add(&bytes)?;
        let raw = raw::check(wire, &bytes).map_err(|source| RequestFileError::Raw {
            path: path.into(),
            wire: wire.word(),
            source,
        })?;
        Ok(NamedRequest {
            name: path.to_owned(),
            category: None,
            weight,
            method: raw.method,
            target: raw.target,
            bytes,
            is_head: raw.is_head,
            closes: raw.closes,
            expect: expect.clone(),
        })
    };
    let requests = given.iter().map(&mut read_one).collect::<Result<Vec<_>, RequestFileError>>()?;
    Ok(Mix::new(MixSource::Files(given.to_vec()), requests, Vec::new())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_stand_behind_the_last_at() {
        for (given, want) in [
            ("a.http", Some(("a.http", 1))),
            ("a.http@3", Some(("a.http", 3))),
            ("user@host.http", Some(("user@host.http", 1))),
            ("x@99@1", Some(("x@99", 1))),
            ("x@", Some(("x@", 1))),
            ("x@0", None),
            ("x@10001", None),
            ("x@99999999999", None),
        ] {
            assert_eq!(split(given).ok(), want, "{given}");
        }
        assert!(split("x@0").expect_err("no weight").to_string().contains("\"x@0\""));
    }

    #[test]
    fn files_are_read_and_a_broken_one_is_named() {
        let folder = std::env::temp_dir().join(format!("zapring-request-file-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("writable");
        let file = |name: &str, text: &str| {
            let path = folder.join(name);
            std::fs::write(&path, text).expect("written");
            path.display().to_string()
        };
        let head = file("head.http", "HEAD /h HTTP/1.1\r\nHost: a\r\n\r\n");
        let post = file("post.http", "POST /p HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi");
        let broken = file("broken.http", "GET / HTTP/1.1\n\n");
        let expect = Expect::parse("204").expect("a status");
        let mix = read_all(&[format!("{head}@2"), post], WireName::Http, &expect).expect("sound");
        let facts: Vec<_> = mix
            .requests
            .iter()
            .map(|one| (one.weight, one.method.as_str(), one.target.as_str(), one.is_head, one.closes))
            .collect();
        assert_eq!(facts, [(2, "HEAD", "/h", true, false), (1, "POST", "/p", false, true)]);
        assert!(mix.requests[0].name == head && mix.requests[0].expect == expect);
        let error = read_all(&[head.clone(), broken.clone()], WireName::Http, &expect).expect_err("broken").to_string();
        assert!(error.contains(&broken) && error.contains("at byte 14"), "{error}");
        let error = read_all(&[head.clone(), head.clone()], WireName::Http, &expect).expect_err("twice").to_string();
        assert!(error.contains("two requests are called"), "{error}");
        let error = read_all(&[head], WireName::Zap, &expect).expect_err("another wire").to_string();
        assert!(error.contains("is not one zap request"), "{error}");
        let many = vec![broken.clone(); 129];
        let error = read_all(&many, WireName::Http, &expect).expect_err("too many").to_string();
        assert!(error.contains("129 requests are too many"), "{error}");
        std::fs::remove_dir_all(&folder).expect("removed");
        let error = read_all(&[broken], WireName::Http, &expect).expect_err("gone").to_string();
        assert!(error.contains("cannot read"), "{error}");
    }
}
