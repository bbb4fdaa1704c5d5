//! Scenario files: named requests in categories, as TOML.
//!
//! ```toml
//! headers = ["Accept: application/json"]          # of every request, before its own
//!
//! [[request]]
//! name = "login"
//! category = "account"                            # optional, as is all below but name and path
//! weight = 3                                      # how often beside the others; 1
//! method = "POST"                                 # GET, or POST with a body
//! path = "/login"
//! headers = ["Authorization: Bearer ${API_TOKEN}"]
//! body = "{}"                                     # or body_file = "login.json", beside this file
//! expect = "200-299,409"                          # as --expect
//! requires_env = "API_TOKEN"                      # left out where this is not set
//! ```
//!
//! `${NAME}` in the value of a header is the value of that environment variable, `$${` is `${`. Such values go into the request and nowhere
//! else: no error, report or run file quotes them. Parsing and making the requests are pure: variables and body files are asked of the
//! caller.

use std::path::{Path, PathBuf};

use results::Header;
use serde::Deserialize;
use thiserror::Error;

use crate::{
    expect::{Expect, ExpectError},
    input_file::{self, FileError},
    limits::{MAX_NAME_CHARS, MAX_REQUEST_FILE_BYTES, MAX_SCENARIO_BYTES},
    mix::{Mix, MixError, MixSource, NamedRequest, Running, Skipped},
    request::{self, Request, RequestError},
    target::{Target, WireName},
    value::{self, ValueError},
    variable::{self, Variable, VariableError},
};

/// Why a scenario cannot be run.
#[derive(Debug, Error)]
pub enum ScenarioError {
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// It is no UTF-8.
    #[error("{path} is not a scenario: byte {at} and what follows it is not UTF-8")]
    NotText {
        /// The file.
        path: String,
        /// Where.
        at: usize,
    },
    /// It is no TOML, or holds other keys than a scenario has.
    #[error("{path} is not a scenario: {message}")]
    Toml {
        /// The file.
        path: String,
        /// Line, column and what is wrong.
        message: String,
    },
    /// A header of all requests that is none.
    #[error("{path}: headers: {source}")]
    CommonHeader {
        /// The file.
        path: String,
        /// What is wrong.
        source: ValueError,
    },
    /// One of its requests is not right.
    #[error("{path}: request {name:?}: {source}")]
    Request {
        /// The file.
        path: String,
        /// The request.
        name: String,
        /// What is wrong.
        source: EntryError,
    },
    /// Every request was left out.
    #[error(
        "{path}: every request is left out: set {variables} in the environment, or add a request without requires_env"
    )]
    AllSkipped {
        /// The file.
        path: String,
        /// The variables that were missed.
        variables: String,
    },
    /// Requests that do not go together.
    #[error("{path}: {source}")]
    Mix {
        /// The file.
        path: String,
        /// What is wrong.
        source: MixError,
    },
}

/// What is wrong with one request of a scenario.
#[derive(Debug, Error)]
pub enum EntryError {
    /// A name or category that no table can show.
    #[error("its {what} must have 1 to {MAX_NAME_CHARS} characters and no control among them")]
    Name {
        /// `name` or `category`.
        what: &'static str,
    },
    /// A path that no request line may hold.
    #[error(
        "path {path:?} must begin with / and hold no blank, control or non-ASCII character: write those percent-encoded, as in %20"
    )]
    Path {
        /// What was given.
        path: String,
    },
    /// A method that is no token.
    #[error("method {method:?} is not a method: write a word like GET")]
    Method {
        /// What was given.
        method: String,
    },
    /// A header that is none.
    #[error("headers: {0}")]
    Header(ValueError),
    /// Statuses that are none.
    #[error("expect: {0}")]
    Expect(ExpectError),
    /// Two bodies.
    #[error("body and body_file exclude each other")]
    TwoBodies,
    /// A body file that cannot be read.
    #[error("body_file: {0}")]
    BodyFile(FileError),
    /// A variable that is named wrongly, not there, or of no use in a header.
    #[error(transparent)]
    Variable(#[from] VariableError),
    /// The request cannot be written.
    #[error(transparent)]
    Encode(RequestError),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    headers: Vec<String>,
    #[serde(default, rename = "request")]
    requests: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    category: Option<String>,
    weight: Option<u32>,
    method: Option<String>,
    path: String,
    #[serde(default)]
    headers: Vec<String>,
    body: Option<String>,
    body_file: Option<PathBuf>,
    expect: Option<String>,
    requires_env: Option<String>,
}

/// What a scenario asks of its surroundings.
pub trait Surroundings {
    /// A variable of the environment.
    fn variable(&self, name: &str) -> Variable;

    /// The bytes of a body file, whose path is as the scenario gives it.
    ///
    /// # Errors
    /// [`FileError`].
    fn body(&self, path: &Path) -> Result<Vec<u8>, FileError>;
}

/// This process's environment, and files beside the scenario file.
#[derive(Debug)]
struct Live<'a> {
    folder: &'a Path,
}

impl Surroundings for Live<'_> {
    fn variable(&self, name: &str) -> Variable {
        Variable::of_this_process(name)
    }

    fn body(&self, path: &Path) -> Result<Vec<u8>, FileError> {
        input_file::read(&self.folder.join(path), MAX_REQUEST_FILE_BYTES)
    }
}

/// Reads a scenario file and makes its requests for a target; `expect` is what those are answered with that do not say.
///
/// # Errors
/// [`ScenarioError`], naming the file, the place or request, and what would be right.
pub fn read(path: &Path, target: &Target, expect: &Expect) -> Result<Mix, ScenarioError> {
    let name = path.display().to_string();
    let bytes = input_file::read(path, MAX_SCENARIO_BYTES)?;
    let text = std::str::from_utf8(&bytes)
        .map_err(|error| ScenarioError::NotText { path: name.clone(), at: error.valid_up_to() })?;
    let folder = path.parent().unwrap_or(Path::new(""));
    parse(text, &name, target, expect, &Live { folder })
}

/// The same of a text; `path` names it in errors and in the run file.
///
/// # Errors
/// As [`read`].
pub fn parse(
    text: &str,
    path: &str,
    target: &Target,
    expect: &Expect,
    around: &dyn Surroundings,
) -> Result<Mix, ScenarioError> {
    let document: Document = toml::from_str(text)
        .map_err(|error| ScenarioError::Toml { path: path.into(), message: error.to_string().trim_end().to_owned() })?;
    let common = document.headers.iter().map(|text| value::header(text)).collect::<Result<Vec<_>, _>>();
    let common = common.map_err(|source| ScenarioError::CommonHeader { path: path.into(), source })?;
    let not_together = |source| ScenarioError::Mix { path: path.into(), source };
    let mut running = Running::of(document.requests.len()).map_err(not_together)?;
    let (mut requests, mut skipped) = (Vec::new(), Vec::new());
    for entry in &document.requests {
        let failed = |source| ScenarioError::Request { path: path.into(), name: entry.name.clone(), source };
        match entry.make(&common, target, expect, around).map_err(failed)? {
            Made::Request(request) => {
                running.add(&request.bytes).map_err(not_together)?;
                requests.push(*request);
            }
            Made::Skipped(left_out) => skipped.push(left_out),
        }
    }
    if requests.is_empty() && !skipped.is_empty() {
        let mut variables: Vec<&str> = skipped.iter().map(|skipped| skipped.variable.as_str()).collect();
        variables.sort_unstable();
        variables.dedup();
        return Err(ScenarioError::AllSkipped { path: path.into(), variables: variables.join(" or ") });
    }
    Mix::new(MixSource::Scenario(path.into()), requests, skipped).map_err(not_together)
}

/// What becomes of an entry.
enum Made {
    Request(Box<NamedRequest>),
    Skipped(Skipped),
}

impl Entry {
    fn make(
        &self,
        common: &[Header],
        target: &Target,
        expect: &Expect,
        around: &dyn Surroundings,
    ) -> Result<Made, EntryError> {
        self.check()?;
        // Read whether it is sent or not: a mistake should not wait for the day on which the variable is set.
        let own = self.headers.iter().map(|text| value::header(text)).collect::<Result<Vec<_>, _>>();
        let own = own.map_err(EntryError::Header)?;
        let expect = match &self.expect {
            Some(text) => Expect::parse(text).map_err(EntryError::Expect)?,
            None => expect.clone(),
        };
        if let Some(variable) = &self.requires_env
            && around.variable(variable) == Variable::Unset
        {
            let (name, category) = (self.name.clone(), self.category.clone());
            return Ok(Made::Skipped(Skipped { name, category, variable: variable.clone() }));
        }
        let body = match (&self.body, &self.body_file) {
            (Some(text), _) => text.clone().into_bytes(),
            (None, Some(path)) => around.body(path).map_err(EntryError::BodyFile)?,
            (None, None) => Vec::new(),
        };
        let mut headers = Vec::with_capacity(common.len() + own.len());
        for Header { name, value } in common.iter().chain(&own) {
            headers
                .push(Header { name: name.clone(), value: variable::substitute(value, |name| around.variable(name))? });
        }
        let method = self.method.as_deref().unwrap_or(if body.is_empty() { "GET" } else { "POST" });
        let target = Target { request_target: self.path.clone(), ..target.clone() };
        let encoded = Request::encode(&target, method, &headers, &body, 1).map_err(EntryError::Encode)?;
        let is_http = target.wire == WireName::Http;
        Ok(Made::Request(Box::new(NamedRequest {
            name: self.name.clone(),
            category: self.category.clone(),
            weight: self.weight.unwrap_or(1),
            method: method.to_owned(),
            target: self.path.clone(),
            bytes: encoded.to_bytes(),
            is_head: is_http && method == "HEAD",
            closes: is_http && request::closes(&headers),
            expect,
        })))
    }

    /// What can be said without the surroundings.
    fn check(&self) -> Result<(), EntryError> {
        let fits =
            |text: &str| (1..=MAX_NAME_CHARS).contains(&text.chars().count()) && !text.chars().any(char::is_control);
        if !fits(&self.name) {
            return Err(EntryError::Name { what: "name" });
        }
        if !self.category.as_deref().is_none_or(fits) {
            return Err(EntryError::Name { what: "category" });
        }
        if !self.path.starts_with('/') || !self.path.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(EntryError::Path { path: self.path.clone() });
        }
        if let Some(method) = &self.method
            && (method.is_empty() || !method.bytes().all(value::is_token_byte))
        {
            return Err(EntryError::Method { method: method.clone() });
        }
        if self.body.is_some() && self.body_file.is_some() {
            return Err(EntryError::TwoBodies);
        }
        match &self.requires_env {
            Some(variable) => Ok(variable::check_name(variable)?),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `TOKEN` is set, `BAD` has a line end, `ODD` is no text, all others are not set; one body file is there.
    struct Around;

    impl Surroundings for Around {
        fn variable(&self, name: &str) -> Variable {
            match name {
                "TOKEN" => Variable::Set("s3cret".into()),
                "BAD" => Variable::Set("s3cret\r\nX: y".into()),
                "ODD" => Variable::Unfit,
                _ => Variable::Unset,
            }
        }

        fn body(&self, path: &Path) -> Result<Vec<u8>, FileError> {
            match path.to_str() {
                Some("body.bin") => Ok(vec![0, 255]),
                _ => input_file::read(Path::new("/nonexistent"), 1),
            }
        }
    }

    fn scenario(url: &str, text: &str) -> Result<Mix, String> {
        let target = Target::parse(url).expect("a URL");
        parse(text, "s.toml", &target, &Expect::default(), &Around).map_err(|error| error.to_string())
    }

    const ALL: &str = r#"
        headers = ["X-Common: 1"]
        [[request]]
        name = "login"
        category = "account"
        weight = 3
        path = "/login?x"
        headers = ["Authorization: Bearer ${TOKEN}", "X-Common: 2", "X-Plain: $${TOKEN} $5 $$"]
        body = "hi"
        expect = "204"
        requires_env = "TOKEN"
        [[request]]
        name = "look"
        method = "HEAD"
        path = "/"
        headers = ["Connection: close"]
        [[request]]
        name = "upload"
        method = "PUT"
        path = "/u"
        body_file = "body.bin"
        [[request]]
        name = "admin"
        category = "account"
        path = "/admin"
        headers = ["Authorization: ${ADMIN_TOKEN}"]
        requires_env = "ADMIN_TOKEN"
    "#;

    #[test]
    fn requests_are_made_as_written() {
        let mix = scenario("http://a:1/", ALL).expect("sound");
        let texts: Vec<_> =
            mix.requests.iter().map(|named| String::from_utf8_lossy(&named.bytes).into_owned()).collect();
        assert_eq!(
            texts[0],
            "POST /login?x HTTP/1.1\r\nHost: a:1\r\nX-Common: 1\r\nAuthorization: Bearer s3cret\r\nX-Common: 2\r\nX-Plain: ${TOKEN} $5 $$\r\nContent-Length: 2\r\n\r\nhi"
        );
        assert_eq!(texts[1], "HEAD / HTTP/1.1\r\nHost: a:1\r\nX-Common: 1\r\nConnection: close\r\n\r\n");
        assert!(mix.requests[2].bytes.ends_with(b"\r\n\r\n\x00\xff"));
        let facts: Vec<_> = mix
            .requests
            .iter()
            .map(|one| {
                (
                    one.name.as_str(),
                    one.category.as_deref(),
                    one.weight,
                    one.is_head,
                    one.closes,
                    one.expect.to_string(),
                )
            })
            .collect();
        assert_eq!(
            facts,
            [
                ("login", Some("account"), 3, false, false, "204".to_owned()),
                ("look", None, 1, true, true, "200-299".to_owned()),
                ("upload", None, 1, false, false, "200-299".to_owned()),
            ]
        );
        let skipped =
            Skipped { name: "admin".into(), category: Some("account".into()), variable: "ADMIN_TOKEN".into() };
        assert_eq!(mix.skipped, [skipped]);
        assert!(!format!("{mix:?}").contains("s3cret"));
    }

    #[test]
    fn zap_requests_are_frames_and_know_no_close() {
        let mix = scenario("zap://a:1/", ALL).expect("sound");
        let read = codec::zap::request::Request::decode(&mix.requests[0].bytes[4..]).expect("our own frame");
        assert_eq!((read.method, read.target, read.body), (&b"POST"[..], &b"/login?x"[..], &b"hi"[..]));
        assert!(read.headers.iter().any(|pair| pair == (&b"Authorization"[..], &b"Bearer s3cret"[..])));
        assert!(mix.requests.iter().all(|one| !one.is_head && !one.closes));
    }

    #[test]
    fn what_is_refused_says_where_and_never_quotes_a_variable() {
        let one = |more: &str| format!("[[request]]\nname = \"r\"\npath = \"/\"\n{more}");
        for (text, want) in [
            ("", "s.toml: there is no request"),
            ("[[request]\n", "s.toml is not a scenario: TOML parse error at line 1"),
            ("[[request]]\nname = \"r\"\n", "missing field `path`"),
            (&one("wieght = 1"), "unknown field `wieght`"),
            (&one("weight = -1"), "line 4"),
            (&one("weight = 0"), "the weight of \"r\" is 0"),
            ("common = 1", "unknown field `common`"),
            ("headers = [\"x\"]", "s.toml: headers: \"x\" is not a header"),
            (&one("headers = [\"x\"]"), "request \"r\": headers: \"x\" is not a header"),
            (&one("expect = \"2xx\""), "request \"r\": expect: \"2xx\""),
            (&one("method = \"GE T\""), "method \"GE T\""),
            (&one("category = \"\""), "its category must have 1 to 64"),
            ("[[request]]\nname = \"a\\nb\"\npath = \"/\"", "its name must have"),
            ("[[request]]\nname = \"r\"\npath = \"x\"", "path \"x\" must begin with /"),
            ("[[request]]\nname = \"r\"\npath = \"/a b\"", "%20"),
            (&one("body = \"a\"\nbody_file = \"body.bin\""), "exclude each other"),
            (&one("body_file = \"other\""), "request \"r\": body_file: cannot read"),
            (&one("requires_env = \"A-B\""), "\"A-B\" is not the name"),
            (&one("headers = [\"A: ${1X}\"]"), "\"1X\" is not the name"),
            (&one("headers = [\"A: ${TOKEN\"]"), "is not the name of an environment variable"),
            (&one("headers = [\"A: ${GONE}\"]"), "add requires_env = \"GONE\""),
            (&one("headers = [\"A: ${BAD}\"]"), "the value of the environment variable BAD holds a control"),
            (&one("headers = [\"A: ${ODD}\"]"), "not UTF-8"),
            (&(one("") + &one("")), "two requests are called \"r\""),
            (&one("requires_env = \"GONE\""), "every request is left out: set GONE"),
        ] {
            let error = scenario("http://a/", text).expect_err(text);
            assert!(error.contains(want), "{text}: {error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
    }
}
