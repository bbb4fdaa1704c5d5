//! `GET /health` on may_minihttp.
//!
//! peer-may ADDRESS [THREADS]
//!
//! The crate answers with Server and Date by itself, so its answers are longer than zapring's; `zapring versus` shows by how much.

#![forbid(unsafe_code)]

use std::{env, io, process};

use may_minihttp::{HttpServer, HttpService, Request, Response};

/// Coroutines that are kept for reuse, and the words of a stack: what the crate's own benchmark sets.
const POOL: usize = 1000;
const STACK_WORDS: usize = 0x1000;

#[derive(Clone)]
struct Health;

impl HttpService for Health {
    fn call(&mut self, request: Request, response: &mut Response) -> io::Result<()> {
        response.header("Content-Type: text/plain");
        match (request.method(), request.path()) {
            ("GET", "/health") => response.body("ok"),
            (_, "/health") => {
                response.status_code(405, "Method Not Allowed");
                response.body("method not allowed");
            }
            _ => {
                response.status_code(404, "Not Found");
                response.body("not found");
            }
        }
        Ok(())
    }
}

fn main() {
    let mut args = env::args().skip(1);
    let address = args.next();
    let threads: Option<usize> = args.next().map_or(Some(1), |threads| threads.parse().ok());
    let (Some(address), Some(threads @ 1..)) = (address, threads) else {
        eprintln!("usage: peer-may ADDRESS [THREADS], as in 127.0.0.1:8080 2");
        process::exit(2);
    };
    may::config().set_workers(threads).set_pool_capacity(POOL).set_stack_size(STACK_WORDS);
    let served = HttpServer(Health).start(address.as_str()).map_err(|error| error.to_string());
    if let Err(error) = served.and_then(|server| server.join().map_err(|_| "its acceptor panicked".to_owned())) {
        eprintln!("cannot serve {address}: {error}");
        process::exit(1);
    }
}
