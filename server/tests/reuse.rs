//! Contexts are reused, and nothing of one connection shows on the next: connections in random order over few contexts are
//! answered as each would be by a server of its own.

mod driver;

use driver::*;
use proptest::prelude::*;
use server::Wire;

/// Pieces of HTTP traffic: whole requests, beginnings, refusals.
fn http_pieces() -> Vec<Vec<u8>> {
    let large = [b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 70000\r\n\r\n".to_vec(), letters(70_000)].concat();
    let mut pieces: Vec<Vec<u8>> = [
        "GET /health HTTP/1.1\r\nHost: a\r\n\r\n",
        "HEAD /json HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /plaintext HTTP/1.0\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: a\r\nX-A: 1\r\nContent-Length: 3\r\n\r\nabc",
        "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab",
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 70000\r\n\r\nonly a little",
        "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n",
        "POST /none HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\nskipped",
        "POST /rpc HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}",
        "GET /stream/3/100 HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /bytes/3000 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "GET /hea",
        "\r\n",
        "nonsense\r\n\r\n",
    ]
    .into_iter()
    .map(|piece| piece.as_bytes().to_vec())
    .collect();
    pieces.push(large);
    pieces
}

/// The same for ZAP.
fn zap_pieces() -> Vec<Vec<u8>> {
    let echo = frame("POST", "/echo", &[("X-A", "1")], b"abc");
    vec![
        frame("GET", "/health", &[], b""),
        frame("HEAD", "/json", &[], b""),
        echo.clone(),
        echo[..40].to_vec(),
        frame("POST", "/echo", &[], &letters(70_000)),
        prefixed(&vector("req_post_rpc")),
        frame("GET", "/stream/3/100", &[], b""),
        prefixed(&vector("bad_magic")),
        vec![0; 4],
        vec![0, 0],
    ]
}

#[derive(Clone, Debug)]
struct Visit {
    http: bool,
    pieces: Vec<usize>,
    cut: usize,
    /// How many further connections are opened before this one goes.
    stays: usize,
}

fn visit() -> impl Strategy<Value = Visit> {
    (any::<bool>(), proptest::collection::vec(0..100usize, 0..5), 0..200usize, 0..3usize)
        .prop_map(|(http, pieces, cut, stays)| Visit { http, pieces, cut, stays })
}

impl Visit {
    fn wire(&self) -> Wire {
        if self.http { Wire::Http } else { Wire::Zap }
    }

    fn input(&self) -> Vec<u8> {
        let all = if self.http { http_pieces() } else { zap_pieces() };
        self.pieces.iter().flat_map(|&piece| all[piece % all.len()].clone()).collect()
    }

    /// Opens, sends in two parts and returns what came back and how it stands.
    fn pay(&self, driver: &mut Driver) -> (engine::Conn, Vec<u8>, End) {
        let conn = driver.open(self.wire());
        let input = self.input();
        let (first, second) = input.split_at(self.cut.min(input.len()));
        driver.send(conn, first);
        driver.send(conn, second);
        (conn, driver.take(conn), driver.end(conn))
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_reused_context_answers_like_a_fresh_one(visits in proptest::collection::vec(visit(), 1..12)) {
        let mut shared = Driver::plain();
        shared.budget_bytes = 500;
        let mut staying: Vec<(usize, engine::Conn)> = Vec::new();
        for (now, visit) in visits.iter().enumerate() {
            let (conn, answers, end) = visit.pay(&mut shared);
            let mut fresh = Driver::plain();
            fresh.budget_bytes = 500;
            let (_, want, want_end) = visit.pay(&mut fresh);
            prop_assert_eq!(answers, want);
            prop_assert_eq!(end, want_end);
            if end == End::Open {
                staying.push((now + visit.stays, conn));
            }
            staying.retain(|&(until, conn)| {
                if until <= now {
                    shared.finish(conn);
                }
                until > now
            });
        }
    }
}
