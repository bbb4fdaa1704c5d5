//! catrank: up to 999 search results are ranked again, those about cats first and those about dogs last. Texts, and an answer as large as
//! the request.

use codec::zap::builder::Builder;
use codec::zap::slot::Object;

use super::CaseName;
use super::chance::Chance;
use super::work::Work;

/// Fields of a list of results, the form of request and answer.
mod ranked {
    pub(super) const SECTION: usize = 8;
    pub(super) const RESULTS: usize = 0;
}

/// Fields of a result.
mod result {
    pub(super) const STRIDE: usize = 24;
    pub(super) const SCORE: usize = 0;
    pub(super) const URL: usize = 8;
    pub(super) const SNIPPET: usize = 16;
}

const URL_PREFIX: &[u8] = b"http://example.com";

/// What snippets are made of. None contains one of the words that count.
const WORDS: [&str; 32] = [
    "network ", "packet ", "queue ", "server ", "kernel ", "socket ", "latency ", "buffer ", "ring ", "frame ",
    "slot ", "record ", "message ", "header ", "body ", "wire ", "core ", "thread ", "shard ", "memory ", "cache ",
    "branch ", "cycle ", "clock ", "timer ", "event ", "signal ", "stream ", "window ", "segment ", "route ", "link ",
];

/// What a result about cats is worth more, and one about dogs less.
const FACTOR: f64 = 10_000.0;

/// The highest score of a result that is neither, and a little more.
const GOOD_FROM: f64 = 1001.0;

pub(crate) struct CatRank;

impl Work for CatRank {
    const NAME: CaseName = CaseName::CatRank;
    /// Results about cats and not dogs: those that stand first.
    type Expected = u32;

    fn request(chance: &mut Chance, builder: &mut Builder) -> u32 {
        let count = chance.below(1000) as usize;
        let root = builder.root(ranked::SECTION);
        let results = builder.list(root, ranked::RESULTS, count, result::STRIDE);
        let (mut good, mut text) = (0, Vec::new());
        for index in 0..count {
            let at = results.object(index);
            builder.f64(at, result::SCORE, 1000.0 - index as f64);
            text.clear();
            text.extend_from_slice(URL_PREFIX);
            text.extend((0..chance.below(100)).map(|_| b'a' + chance.below(26) as u8));
            builder.bytes(at, result::URL, &text);
            let (is_cat, is_dog) = (chance.once_in(8), chance.once_in(8));
            good += u32::from(is_cat && !is_dog);
            snippet(chance, is_cat, is_dog, &mut text);
            builder.bytes(at, result::SNIPPET, &text);
        }
        good
    }

    fn answer(request: Object<'_>, builder: &mut Builder) {
        let results = request.list(ranked::RESULTS);
        let mut scored: Vec<(f64, Object<'_>)> = results
            .map_or_else(Vec::new, |list| list.objects(result::STRIDE).map(|item| (score(item), item)).collect());
        scored.sort_by(|one, other| other.0.total_cmp(&one.0));
        let root = builder.root(ranked::SECTION);
        let list = builder.list(root, ranked::RESULTS, scored.len(), result::STRIDE);
        for (index, (score, item)) in scored.into_iter().enumerate() {
            let at = list.object(index);
            builder.f64(at, result::SCORE, score);
            builder.bytes(at, result::URL, item.bytes(result::URL).unwrap_or_default());
            builder.bytes(at, result::SNIPPET, item.bytes(result::SNIPPET).unwrap_or_default());
        }
    }

    fn found(answer: Object<'_>) -> u32 {
        let results = answer.list(ranked::RESULTS);
        results.map_or(0, |list| {
            list.objects(result::STRIDE).take_while(|item| item.f64(result::SCORE) > GOOD_FROM).count() as u32
        })
    }
}

fn snippet(chance: &mut Chance, is_cat: bool, is_dog: bool, text: &mut Vec<u8>) {
    text.clear();
    text.push(b' ');
    let words = |chance: &mut Chance, text: &mut Vec<u8>| {
        for _ in 0..chance.below(20) {
            text.extend_from_slice(chance.one_of(&WORDS).as_bytes());
        }
    };
    words(chance, text);
    text.extend_from_slice(if is_cat { b"cat " } else { b"" });
    text.extend_from_slice(if is_dog { b"dog " } else { b"" });
    words(chance, text);
}

fn score(item: Object<'_>) -> f64 {
    let snippet = item.bytes(result::SNIPPET).unwrap_or_default();
    let mut score = item.f64(result::SCORE);
    if contains(snippet, b" cat ") {
        score *= FACTOR;
    }
    if contains(snippet, b" dog ") {
        score /= FACTOR;
    }
    score
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    memchr::memmem::find(text, word).is_some()
}
