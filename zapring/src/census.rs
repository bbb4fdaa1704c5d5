//! Asks a zapring server over http how many connections each of its shards has accepted.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use harness::{Census, ShardCounts, Totals};
use serde_json::Value;

/// How long the server may take to be connected to, and to answer: it has nothing else to do.
const PATIENCE: Duration = Duration::from_secs(2);

/// Most bytes of an answer: a shard takes about 1 KiB of it.
const MAX_STATS_BYTES: usize = 16 << 20;

/// The question for `harness`.
pub(crate) fn census() -> Census {
    Census::new("http", |address| ask(address).map_err(|error| format!("asking {address}/stats: {error}")))
}

/// How many requests a zapring server has answered on all wires before this one.
pub(crate) fn answered(address: &str) -> Result<u64, String> {
    let ask = || -> io::Result<u64> {
        let (mut stream, host) = connect(address)?;
        let stats = get_stats(&mut stream, host)?;
        let wires = ["http_requests", "zap_requests", "floor_requests"];
        let counts: Option<Vec<u64>> = wires.iter().map(|wire| stats["requests"][wire].as_u64()).collect();
        Ok(counts.ok_or_else(|| broken("the answer is not what a zapring server counts"))?.iter().sum())
    };
    ask().map_err(|error| format!("asking {address}/stats: {error}"))
}

fn connect(address: &str) -> io::Result<(BufReader<TcpStream>, &str)> {
    let host = address.strip_prefix("http://").unwrap_or(address);
    let socket: SocketAddr = host.parse().map_err(|_| broken("it is no address"))?;
    let stream = TcpStream::connect_timeout(&socket, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok((BufReader::new(stream), host))
}

/// Asks twice on one connection: the shard that has answered one more request the second time is the one that got this connection.
fn ask(address: &str) -> io::Result<ShardCounts> {
    let (mut stream, host) = connect(address)?;
    let first = get_stats(&mut stream, host)?;
    let second = get_stats(&mut stream, host)?;
    counts(&first, &second).ok_or_else(|| broken("the answer is not what a zapring server counts"))
}

fn get_stats(stream: &mut BufReader<TcpStream>, host: &str) -> io::Result<Value> {
    stream.get_mut().write_all(format!("GET /stats HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes())?;
    let mut body_bytes = None;
    loop {
        let mut line = String::new();
        if stream.by_ref().take(8192).read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        match line.split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                body_bytes = value.trim().parse().ok()
            }
            _ => {}
        }
    }
    let body_bytes = body_bytes.filter(|bytes| *bytes <= MAX_STATS_BYTES);
    let mut body = vec![0; body_bytes.ok_or_else(|| broken("the answer has no length, or far too much"))?];
    stream.read_exact(&mut body)?;
    Ok(serde_json::from_slice(&body)?)
}

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

/// The counts of two answers on one connection; `None` when they lack a figure or no single shard answered.
fn counts(first: &Value, second: &Value) -> Option<ShardCounts> {
    let figures = |stats: &Value, path: &str| -> Option<Vec<u64>> {
        stats["shards"].as_array()?.iter().map(|shard| shard.pointer(path)?.as_u64()).collect()
    };
    let accepted = figures(second, "/connections/connections_opened")?;
    let [before, after] = [first, second].map(|stats| figures(stats, "/requests/http_requests"));
    let (before, after) = (before?, after?);
    let mut grown = before.iter().zip(&after).enumerate().filter(|(_, (before, after))| after > before);
    let (asked, _) = grown.next()?;
    let totals = totals(second)?;
    (before.len() == after.len() && grown.next().is_none()).then_some(ShardCounts { accepted, asked, totals })
}

/// What the whole server counted.
fn totals(stats: &Value) -> Option<Totals> {
    let figure = |path: &str| stats.pointer(path)?.as_u64();
    Some(Totals {
        requests: figure("/requests/zap_requests")?
            + figure("/requests/http_requests")?
            + figure("/requests/floor_requests")?,
        operations: figure("/connections/operations")?,
        completions: figure("/connections/completions")?,
        enters: figure("/connections/enters")?,
        allocations: figure("/allocator/allocations"),
        live_bytes: stats.pointer("/allocator/live_bytes").and_then(Value::as_i64),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn stats(shards: &[(u64, u64)]) -> Value {
        let shard = |(opened, requests): &(u64, u64)| json!({ "connections": { "connections_opened": opened }, "requests": { "http_requests": requests } });
        json!({
            "shards": shards.iter().map(shard).collect::<Vec<_>>(),
            "requests": { "zap_requests": 1, "http_requests": 20, "floor_requests": 300 },
            "connections": { "operations": 5, "completions": 6, "enters": 7 },
            "allocator": { "allocations": 8, "live_bytes": -9 },
        })
    }

    #[test]
    fn the_shard_that_answered_is_known_by_its_requests() {
        let got = counts(&stats(&[(32, 900), (33, 901)]), &stats(&[(32, 900), (33, 902)]));
        let (allocations, live_bytes) = (Some(8), Some(-9));
        let totals = Totals { requests: 321, operations: 5, completions: 6, enters: 7, allocations, live_bytes };
        assert_eq!(got, Some(ShardCounts { accepted: vec![32, 33], asked: 1, totals }));
    }

    #[test]
    fn an_answer_that_leaves_it_open_is_none() {
        let one = stats(&[(1, 1), (1, 1)]);
        assert_eq!(counts(&one, &one), None, "nobody answered");
        assert_eq!(counts(&one, &stats(&[(1, 2), (1, 2)])), None, "somebody else asked too");
        assert_eq!(counts(&one, &json!({ "shards": [{}] })), None);
        assert_eq!(counts(&one, &json!([])), None);
    }

    #[test]
    fn nobody_there_is_said() {
        assert!(ask("http://nowhere").is_err());
        assert!(ask("http://127.0.0.1:9").is_err());
    }
}
