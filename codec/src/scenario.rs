//! The scenarios: what is asked, and what a right answer carries, the same logical request on zap and http.
//!
//! Owns their names and contents, so that loader, benches and tables mean the same by a name. Host and Content-Length are not among
//! the headers: a wire adds what it needs, and Host counts among the headers that a description names. Must not write a message.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::json::{Library, SAMPLE_CALL};
use crate::rpc;

/// One kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scenario {
    /// `GET /plaintext`: a greeting of 13 bytes.
    Hello,
    /// `POST /rpc`: the sample call, as a record on zap and as its JSON twin on http.
    Rpc,
    /// `POST /echo` of 16 bytes with 4 headers.
    EchoTiny,
    /// Of 256 bytes with 8 headers.
    EchoSmall,
    /// Of a chat as JSON, about 0.8 KiB, with 12 headers.
    EchoChat,
    /// Of 4 KiB with 12 headers.
    EchoMedium,
    /// Of 64 KiB with 8 headers.
    EchoLarge,
    /// `GET /stream/16/1024`: 16 chunks of 1 KiB.
    Stream,
}

/// A name that no scenario has.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{input:?} is no scenario: give one of {}", Scenario::ALL.map(Scenario::name).join(", "))]
pub struct ScenarioError {
    /// What was given.
    pub input: String,
}

/// Headers of the echoes: the first `count - 2` of them behind Host and Content-Type.
const ECHOED: [(&str, &str); 10] = [
    ("X-Bench-02", "value-02"),
    ("X-Bench-03", "value-03"),
    ("X-Bench-04", "value-04"),
    ("X-Bench-05", "value-05"),
    ("X-Bench-06", "value-06"),
    ("X-Bench-07", "value-07"),
    ("X-Bench-08", "value-08"),
    ("X-Bench-09", "value-09"),
    ("X-Bench-10", "value-10"),
    ("X-Bench-11", "value-11"),
];

const CHUNKS: usize = 16;
const CHUNK_BYTES: usize = 1024;

/// A chat as it is posted to a model: what an application that speaks JSON sends.
const CHAT: &str = concat!(
    r#"{"model":"example-7b","messages":["#,
    r#"{"role":"system","content":"You answer questions about networks. Keep answers short, name your sources, and say "#,
    r#"so when you are not sure of something."},"#,
    r#"{"role":"user","content":"How many requests per second can one core of a small server carry over loopback, and "#,
    r#"which part of that is spent in the kernel?"},"#,
    r#"{"role":"assistant","content":"A few hundred thousand with a lean server. Nine tenths of the time is the TCP stack: "#,
    r#"system calls, copies between sockets, and waking the other side. Parsing a small request costs a tenth of a "#,
    r#"microsecond or less, so batching system calls pays more than a faster parser does."},"#,
    r#"{"role":"user","content":"And with sixteen requests pipelined on each connection?"}],"#,
    r#""temperature":0.2,"top_p":0.9,"max_tokens":256,"stream":false,"stop":["\n\n"],"user":"user-0042"}"#,
);

impl Scenario {
    /// Every scenario.
    pub const ALL: [Self; 8] = [
        Self::Hello,
        Self::Rpc,
        Self::EchoTiny,
        Self::EchoSmall,
        Self::EchoChat,
        Self::EchoMedium,
        Self::EchoLarge,
        Self::Stream,
    ];

    /// Its name, as it is typed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hello => "hello",
            Self::Rpc => "rpc",
            Self::EchoTiny => "echo-tiny",
            Self::EchoSmall => "echo-small",
            Self::EchoChat => "echo-chat",
            Self::EchoMedium => "echo-medium",
            Self::EchoLarge => "echo-large",
            Self::Stream => "stream",
        }
    }

    /// The method.
    pub const fn method(self) -> &'static str {
        match self {
            Self::Hello | Self::Stream => "GET",
            _ => "POST",
        }
    }

    /// The path.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Hello => "/plaintext",
            Self::Rpc => "/rpc",
            Self::Stream => "/stream/16/1024",
            _ => "/echo",
        }
    }

    /// The headers without Host and Content-Length; `record` where the body of an rpc is a record and not JSON.
    pub fn headers(self, record: bool) -> Vec<(&'static str, &'static str)> {
        let (content_type, count) = match self {
            Self::Hello | Self::Stream => return Vec::new(),
            Self::Rpc if record => ("application/zap", 2),
            Self::Rpc => ("application/json", 2),
            Self::EchoTiny => ("application/octet-stream", 4),
            Self::EchoSmall | Self::EchoLarge => ("application/octet-stream", 8),
            Self::EchoChat => ("application/json", 12),
            Self::EchoMedium => ("application/octet-stream", 12),
        };
        std::iter::once(("Content-Type", content_type)).chain(ECHOED.into_iter().take(count - 2)).collect()
    }

    /// The body; `record` where that of an rpc is a record and not JSON.
    pub fn body(self, record: bool) -> Cow<'static, [u8]> {
        match self {
            Self::Hello | Self::Stream => Cow::Borrowed(b""),
            Self::Rpc if record => {
                written(|out| rpc::SAMPLE_REQUEST.encode(out).expect("the sample call has 82 bytes")).into()
            }
            Self::Rpc => written(|out| SAMPLE_CALL.encode(Library::Serde, out)).into(),
            Self::EchoTiny => letters(16).into(),
            Self::EchoSmall => letters(256).into(),
            Self::EchoChat => Cow::Borrowed(CHAT.as_bytes()),
            Self::EchoMedium => letters(4096).into(),
            Self::EchoLarge => letters(65_536).into(),
        }
    }

    /// The body of the right answer.
    pub fn answer_body(self, record: bool) -> Cow<'static, [u8]> {
        match self {
            Self::Hello => Cow::Borrowed(b"Hello, World!"),
            Self::Rpc if record => {
                let answer = rpc::answer(&rpc::SAMPLE_REQUEST);
                written(|out| answer.encode(out).expect("its answer has 80 bytes")).into()
            }
            Self::Rpc => written(|out| SAMPLE_CALL.answer().encode(Library::Serde, out)).into(),
            Self::Stream => letters(CHUNK_BYTES).repeat(CHUNKS).into(),
            _ => self.body(record),
        }
    }
}

fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out);
    out
}

/// The alphabet over and over.
fn letters(bytes: usize) -> Vec<u8> {
    (b'a'..=b'z').cycle().take(bytes).collect()
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Scenario {
    type Err = ScenarioError;

    fn from_str(text: &str) -> Result<Self, ScenarioError> {
        let found = Self::ALL.into_iter().find(|scenario| scenario.name() == text);
        found.ok_or_else(|| ScenarioError { input: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_headers_are_the_documented_ones() {
        let sizes: Vec<_> = Scenario::ALL
            .into_iter()
            .map(|scenario| {
                let with_host = scenario.headers(true).len() + 1;
                let bodies = [true, false].map(|record| scenario.body(record).len());
                let answers = [true, false].map(|record| scenario.answer_body(record).len());
                (scenario.name(), with_host, bodies, answers)
            })
            .collect();
        let chat = CHAT.len();
        assert!((768..896).contains(&chat), "{chat}");
        let want = [
            ("hello", 1, [0, 0], [13, 13]),
            ("rpc", 2, [82, 103], [80, 130]),
            ("echo-tiny", 4, [16, 16], [16, 16]),
            ("echo-small", 8, [256, 256], [256, 256]),
            ("echo-chat", 12, [chat, chat], [chat, chat]),
            ("echo-medium", 12, [4096, 4096], [4096, 4096]),
            ("echo-large", 8, [65_536, 65_536], [65_536, 65_536]),
            ("stream", 1, [0, 0], [16_384, 16_384]),
        ];
        assert_eq!(sizes, want);
        serde_json::from_str::<serde_json::Value>(CHAT).expect("a chat is JSON");
    }

    #[test]
    fn names_are_read_and_others_refused_with_the_list() {
        for scenario in Scenario::ALL {
            assert_eq!(scenario.to_string().parse(), Ok(scenario));
        }
        let error = "echo".parse::<Scenario>().unwrap_err().to_string();
        assert!(error.contains("\"echo\"") && error.contains("hello, rpc, echo-tiny") && error.contains("stream"));
    }
}
