//! Asks a server once, as the loader asks it, and keeps the body of the answer. Measures nothing, and leaves the status to the loader.

use std::{
    io::{self, Read, Write},
    net::TcpStream,
    os::unix::net::UnixStream,
    time::Duration,
};

use codec::{
    Step,
    http::{BodyReader, HeadScan, Limits, response},
    limits::MAX_FRAME_BYTES,
    zap::{
        frame::{self, Frame, Kind},
        response::Response,
        stream,
    },
};
use engine::Address;
use loader::{Family, Target, request::Request, target::WireName};

/// How long the server may take to be connected to, and between two pieces of its answer: it has nothing else to do.
const PATIENCE: Duration = Duration::from_secs(2);

/// Most bytes of an answer. It is compared with a text that stands in a list of peers.
const MAX_ANSWER_BYTES: usize = 4 << 20;

/// Bytes that are read at once.
const READ_BYTES: usize = 64 << 10;

/// The body of what `url` answers to a GET.
pub(crate) fn body(url: &str) -> Result<Vec<u8>, String> {
    let target = Target::parse(url).map_err(|error| error.to_string())?;
    let request = Request::encode(&target, "GET", &[], &[], 1).map_err(|error| error.to_string())?;
    let addresses = target.resolve(Family::Any).map_err(|error| error.to_string())?;
    let address = addresses.first().ok_or("it has no address")?;
    match address {
        Address::Tcp(address) => TcpStream::connect_timeout(address, PATIENCE).and_then(|stream| {
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            Ok(exchange(stream, request.bytes(), target.wire))
        }),
        Address::Unix(path) => UnixStream::connect(path).and_then(|stream| {
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            Ok(exchange(stream, request.bytes(), target.wire))
        }),
    }
    .map_err(|error| format!("connecting to {url}: {error}"))?
    .map_err(|error| format!("asking {url}: {error}"))
}

fn exchange(mut stream: impl Read + Write, request: &[u8], wire: WireName) -> io::Result<Vec<u8>> {
    stream.write_all(request)?;
    let (mut input, mut piece) = (Vec::new(), vec![0; READ_BYTES]);
    loop {
        let read = match stream.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        input.extend_from_slice(&piece[..read]);
        let found = match wire {
            WireName::Http => of_http(&input, read == 0),
            WireName::Zap => of_zap(&input),
            WireName::Floor(_) => Err("floor has no bodies".to_owned()),
        };
        match found {
            Err(reason) => return Err(io::Error::new(io::ErrorKind::InvalidData, reason)),
            Ok(Some(body)) => return Ok(body),
            Ok(None) if read == 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(None) if input.len() > MAX_ANSWER_BYTES => {
                let reason = format!("its answer has more than {MAX_ANSWER_BYTES} bytes");
                return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
            }
            Ok(None) => {}
        }
    }
}

/// A body, none while it is not all there, or why it is no answer.
type Found = Result<Option<Vec<u8>>, String>;

/// The body of the one answer that `input` begins with; `None` while it is not all there. `ended`: nothing follows.
fn of_http(input: &[u8], ended: bool) -> Found {
    let mut at = 0;
    let length = loop {
        let head = response::parse(&input[at..], &mut HeadScan::default(), false, &Limits::DEFAULT);
        match head.map_err(|error| error.to_string())? {
            Step::NeedMore { .. } => return Ok(None),
            Step::Complete { value, consumed } => {
                at += consumed;
                if !value.interim {
                    break value.body;
                }
            }
        }
    };
    let (mut reader, mut body) = (BodyReader::new(length), Vec::new());
    loop {
        let piece = reader.read(&input[at..]).map_err(|error| error.to_string())?;
        body.extend_from_slice(piece.data);
        at += piece.consumed;
        if piece.done {
            return Ok(Some(body));
        }
        if piece.consumed == 0 || at == input.len() {
            break;
        }
    }
    if ended {
        reader.finish_eof().map_err(|error| error.to_string())?;
        return Ok(Some(body));
    }
    Ok(None)
}

/// Likewise on zap, where the close ends nothing.
fn of_zap(input: &[u8]) -> Found {
    let (mut at, mut streaming, mut body) = (0, false, Vec::new());
    loop {
        let Step::Complete { value, consumed } =
            frame::split(&input[at..], MAX_FRAME_BYTES).map_err(|error| error.to_string())?
        else {
            return Ok(None);
        };
        at += consumed;
        let frame = Frame::parse(value).map_err(|error| error.to_string())?;
        match (streaming, frame.kind()) {
            (false, Some(kind @ (Kind::Response | Kind::Head))) => {
                let answer = Response::from_frame(&frame).map_err(|error| error.to_string())?;
                if kind == Kind::Response {
                    return Ok(Some(answer.body.to_vec()));
                }
                streaming = true;
            }
            (true, Some(Kind::Data)) => {
                body.extend_from_slice(stream::data_from_frame(&frame).map_err(|error| error.to_string())?);
            }
            (true, Some(Kind::End)) => return Ok(Some(body)),
            _ => return Err("a frame of a kind that cannot come there".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use codec::zap::response::{self, ResponseHead};

    /// Every cut of an answer is incomplete, and the whole of it has this body.
    fn whole_and_cut(input: &[u8], body: &[u8], read: fn(&[u8]) -> Found) {
        for cut in 0..input.len() {
            assert_eq!(read(&input[..cut]), Ok(None), "{cut} of {}", input.escape_ascii());
        }
        assert_eq!(read(input), Ok(Some(body.to_vec())), "{}", input.escape_ascii());
    }

    #[test]
    fn bodies_of_http_answers() {
        let open = |input: &[u8]| of_http(input, false);
        whole_and_cut(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", b"ok", open);
        whole_and_cut(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", b"x", open);
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n";
        whole_and_cut(chunked, b"ok", open);
        let until_close = b"HTTP/1.0 200 OK\r\n\r\nok";
        assert_eq!(of_http(until_close, false), Ok(None));
        assert_eq!(of_http(until_close, true), Ok(Some(b"ok".to_vec())));
        of_http(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok", true).expect_err("cut short");
        of_http(b"SSH-2.0\r\n\r\n", false).expect_err("no HTTP");
    }

    #[test]
    fn bodies_of_zap_answers() {
        let head = || ResponseHead::new(200, ());
        let (mut one, mut several) = (Vec::new(), Vec::new());
        response::encode(&mut one, &head(), b"ok", ()).expect("it fits");
        whole_and_cut(&one, b"ok", of_zap);
        response::encode_head(&mut several, &head()).expect("it fits");
        stream::encode_data(&mut several, b"o").expect("it fits");
        stream::encode_data(&mut several, b"k").expect("it fits");
        stream::encode_end(&mut several, ()).expect("it fits");
        whole_and_cut(&several, b"ok", of_zap);
        let mut strange = Vec::new();
        stream::encode_data(&mut strange, b"ok").expect("it fits");
        of_zap(&strange).expect_err("data before its head");
    }

    #[test]
    fn nobody_there_is_said() {
        for url in ["http://127.0.0.1:9/health", "zap://127.0.0.1:9/health", "http+unix:/nonexistent:/health"] {
            let error = body(url).expect_err(url);
            assert!(error.contains(url), "{error}");
        }
    }
}
