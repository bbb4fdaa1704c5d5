//! `GET /health` on hyper: one single-threaded tokio runtime and one listener per thread, as fast servers on hyper are built.
//!
//! peer-hyper ADDRESS [THREADS]

#![forbid(unsafe_code)]

use std::{convert::Infallible, env, error::Error, net::SocketAddr, process, thread};

use http_body_util::Full;
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::{CONTENT_TYPE, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::{
    net::TcpListener,
    runtime::Builder,
    task::{LocalSet, spawn_local},
};

const BACKLOG: i32 = 4096;
const TEXT: HeaderValue = HeaderValue::from_static("text/plain");

fn main() {
    let mut args = env::args().skip(1);
    let address: Option<SocketAddr> = args.next().and_then(|address| address.parse().ok());
    let threads: Option<usize> = args.next().map_or(Some(1), |threads| threads.parse().ok());
    let (Some(address), Some(threads @ 1..)) = (address, threads) else {
        eprintln!("usage: peer-hyper ADDRESS [THREADS], as in 127.0.0.1:8080 2");
        process::exit(2);
    };
    let threads: Vec<_> =
        (0..threads).map(|_| thread::spawn(move || serve(address).map_err(|error| error.to_string()))).collect();
    for thread in threads {
        if let Ok(Err(error)) = thread.join() {
            eprintln!("cannot serve {address}: {error}");
            process::exit(1);
        }
    }
}

fn serve(address: SocketAddr) -> Result<(), Box<dyn Error>> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    LocalSet::new().block_on(&runtime, async {
        let listener = listen(address)?;
        // Without Date, so that answers have the bytes of zapring's.
        let mut http = http1::Builder::new();
        http.auto_date_header(false).pipeline_flush(true);
        loop {
            // A failed accept concerns one peer only.
            let Ok((stream, _)) = listener.accept().await else { continue };
            let _ = stream.set_nodelay(true);
            let connection = http.serve_connection(TokioIo::new(stream), service_fn(answer));
            spawn_local(async {
                // Ends with the peer, well or not.
                let _ = connection.await;
            });
        }
    })
}

fn listen(address: SocketAddr) -> Result<TcpListener, Box<dyn Error>> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(TcpListener::from_std(socket.into())?)
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (status, body) = match (request.method(), request.uri().path()) {
        (&Method::GET, "/health") => (StatusCode::OK, "ok"),
        (_, "/health") => (StatusCode::METHOD_NOT_ALLOWED, "method not allowed"),
        _ => (StatusCode::NOT_FOUND, "not found"),
    };
    let mut response = Response::new(Full::new(Bytes::from_static(body.as_bytes())));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, TEXT);
    Ok(response)
}
