//! Reason phrases: fasthttp's table, since the reference writes those (v1.70.0, `status.go`).
//!
//! Differs from the registered phrases in 413, 414 and 416. Readers ignore the phrase.

/// What is written for a status without a phrase of its own.
pub const UNKNOWN: &str = "Unknown Status Code";

/// The phrase of `status`, or [`UNKNOWN`].
#[inline]
pub const fn phrase(status: u16) -> &'static str {
    // By far the most frequent, and so not worth a table.
    if status == 200 { "OK" } else { table(status) }
}

const fn table(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        101 => "Switching Protocols",
        102 => "Processing",
        103 => "Early Hints",

        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        203 => "Non-Authoritative Information",
        204 => "No Content",
        205 => "Reset Content",
        206 => "Partial Content",
        207 => "Multi-Status",
        208 => "Already Reported",
        226 => "IM Used",

        300 => "Multiple Choices",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        305 => "Use Proxy",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",

        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        407 => "Proxy Authentication Required",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        411 => "Length Required",
        412 => "Precondition Failed",
        413 => "Request Entity Too Large",
        414 => "Request URI Too Long",
        415 => "Unsupported Media Type",
        416 => "Requested Range Not Satisfiable",
        417 => "Expectation Failed",
        418 => "I'm a teapot",
        421 => "Misdirected Request",
        422 => "Unprocessable Entity",
        423 => "Locked",
        424 => "Failed Dependency",
        426 => "Upgrade Required",
        428 => "Precondition Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        451 => "Unavailable For Legal Reasons",

        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        506 => "Variant Also Negotiates",
        507 => "Insufficient Storage",
        508 => "Loop Detected",
        510 => "Not Extended",
        511 => "Network Authentication Required",
        _ => UNKNOWN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_where_fasthttp_has_its_own() {
        assert_eq!(phrase(200), "OK");
        assert_eq!(phrase(413), "Request Entity Too Large");
        assert_eq!(phrase(414), "Request URI Too Long");
        assert_eq!(phrase(416), "Requested Range Not Satisfiable");
        for unknown in [0, 99, 104, 306, 419, 425, 509, 512, 599, u16::MAX] {
            assert_eq!(phrase(unknown), UNKNOWN, "{unknown}");
        }
        assert_eq!((0..1000).filter(|s| phrase(*s) != UNKNOWN).count(), 61);
    }
}
