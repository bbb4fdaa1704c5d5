//! Objects with nested objects and lists: what is built is read back, and what is broken never panics or leaves the message.
#![allow(clippy::unwrap_used)] // helpers of tests

use codec::limits::HEADER_BYTES;
use codec::zap::builder::{Builder, Place};
use codec::zap::frame::Frame;
use codec::zap::packed::{UnpackError, pack, unpack};
use codec::zap::slot::Object;
use proptest::collection::vec;
use proptest::prelude::*;

/// An object of the tests: every kind of field, and objects below it.
#[derive(Debug, Clone, PartialEq)]
struct Node {
    byte: u8,
    flags: [bool; 3],
    short: u16,
    number: i32,
    large: u64,
    half: f32,
    double: f64,
    text: Vec<u8>,
    left: Option<Box<Node>>,
    items: Vec<(u32, Vec<u8>)>,
}

const BYTE: usize = 0;
const FLAGS: usize = 1;
const SHORT: usize = 2;
const NUMBER: usize = 4;
const LARGE: usize = 8;
const HALF: usize = 16;
const LEFT: usize = 20;
const DOUBLE: usize = 24;
const TEXT: usize = 32;
const ITEMS: usize = 40;
const SECTION: usize = 48;
const ITEM: usize = 16;

fn nodes() -> impl Strategy<Value = Node> {
    let leaf = (any::<(u8, [bool; 3], u16, i32, u64)>(), any::<(f32, f64)>(), vec(any::<u8>(), 0..20), items());
    let leaf = leaf.prop_map(|((byte, flags, short, number, large), (half, double), text, items)| Node {
        byte,
        flags,
        short,
        number,
        large,
        half,
        double,
        text,
        left: None,
        items,
    });
    leaf.prop_recursive(6, 8, 1, |inner| {
        (inner.clone(), inner).prop_map(|(mut node, below)| {
            node.left = Some(Box::new(below));
            node
        })
    })
}

fn items() -> impl Strategy<Value = Vec<(u32, Vec<u8>)>> {
    vec((any::<u32>(), vec(any::<u8>(), 0..12)), 0..5)
}

fn write(node: &Node, at: Place, builder: &mut Builder) {
    builder.u8(at, BYTE, node.byte);
    for (bit, flag) in node.flags.into_iter().enumerate() {
        builder.flag(at, FLAGS, bit as u32, flag);
    }
    builder.u16(at, SHORT, node.short);
    builder.i32(at, NUMBER, node.number);
    builder.u64(at, LARGE, node.large);
    builder.f32(at, HALF, node.half);
    builder.f64(at, DOUBLE, node.double);
    builder.bytes(at, TEXT, &node.text);
    let list = builder.list(at, ITEMS, node.items.len(), ITEM);
    assert_eq!((list.len(), list.is_empty()), (node.items.len(), node.items.is_empty()));
    for (index, (number, text)) in node.items.iter().enumerate() {
        builder.u32(list.object(index), 0, *number);
        builder.bytes(list.object(index), 8, text);
    }
    if let Some(left) = &node.left {
        let place = builder.object(at, LEFT, SECTION);
        write(left, place, builder);
    }
}

fn read(object: Object<'_>) -> Node {
    let items = object.list(ITEMS).map_or_else(Vec::new, |list| {
        let items: Vec<_> =
            list.objects(ITEM).map(|item| (item.u32(0), item.bytes(8).unwrap_or_default().to_vec())).collect();
        assert_eq!((items.len(), list.is_empty()), (list.len(), items.is_empty()));
        items
    });
    Node {
        byte: object.u8(BYTE),
        flags: [0, 1, 2].map(|bit| object.flag(FLAGS, bit)),
        short: object.u16(SHORT),
        number: object.i32(NUMBER),
        large: object.u64(LARGE),
        half: object.f32(HALF),
        double: object.f64(DOUBLE),
        text: object.bytes(TEXT).unwrap_or_default().to_vec(),
        left: object.object(LEFT).map(|left| Box::new(read(left))),
        items,
    }
}

/// Follows everything to a depth, as a careful reader would; nothing may lie outside.
fn walk(message: &[u8], object: Object<'_>, depth: usize, budget: &mut usize) {
    if depth == 0 || *budget == 0 {
        return;
    }
    *budget -= 1;
    let inside = |part: &[u8]| {
        let range = message.as_ptr_range();
        assert!(part.is_empty() || (range.contains(&part.as_ptr()) && part.as_ptr_range().end <= range.end));
    };
    for field in [0, 7, TEXT, ITEMS, usize::MAX, usize::MAX - 3] {
        let _ = (object.u8(field), object.u16(field), object.i32(field), object.u64(field), object.f64(field));
        inside(object.bytes(field).unwrap_or_default());
        if let Some(below) = object.object(field) {
            walk(message, below, depth - 1, budget);
        }
        if let Some(list) = object.list(field) {
            assert!(list.len() <= message.len());
            for index in [0, 1, list.len().saturating_sub(1), list.len(), usize::MAX] {
                let _ = (list.u32(index), list.u64(index), list.object(index, usize::MAX));
                if let Some(item) = list.object(index, ITEM) {
                    walk(message, item, depth - 1, budget);
                }
            }
        }
    }
}

fn walk_message(bytes: &[u8]) {
    if let Ok(frame) = Frame::parse(bytes)
        && let Ok(root) = frame.root()
    {
        walk(frame.message(), root, 4, &mut 300);
    }
}

fn built(node: &Node) -> Vec<u8> {
    let mut builder = Builder::new(b"of an earlier message".to_vec());
    let root = builder.root(SECTION);
    write(node, root, &mut builder);
    builder.finish().unwrap().to_vec()
}

#[test]
fn layout_is_the_wires() {
    let mut builder = Builder::default();
    let root = builder.root(24);
    builder.bytes(root, 0, b"abc");
    let below = builder.object(root, 8, 8);
    builder.u32(below, 0, 7);
    let list = builder.list(root, 16, 2, 4);
    builder.u32(list.object(1), 0, 9);
    let message = builder.finish().unwrap();
    assert_eq!(&message[..16], b"ZAP\0\x01\0\0\0\x10\0\0\0\x40\0\0\0");
    // Text right behind the section, unpadded; object and list on the next multiple of 8; offsets from each slot.
    assert_eq!(message[16..24], [24, 0, 0, 0, 3, 0, 0, 0]);
    assert_eq!(message[24..32], [24, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(message[32..40], [24, 0, 0, 0, 2, 0, 0, 0]);
    assert_eq!(message[40..], *b"abc\0\0\0\0\0\x07\0\0\0\0\0\0\0\0\0\0\0\x09\0\0\0");
    let again = builder.into_buffer();
    assert_eq!(again.len(), 64);
}

#[test]
fn signed_offsets_lead_back_and_never_out() {
    let mut message = built(&Node {
        byte: 1,
        flags: [false; 3],
        short: 0,
        number: 0,
        large: 0,
        half: 0.0,
        double: 0.0,
        text: Vec::new(),
        left: None,
        items: Vec::new(),
    });
    let slot = HEADER_BYTES + LEFT;
    for (offset, byte) in
        [(-(LEFT as i32), Some(1)), (-(LEFT as i32) - 1, None), (i32::MIN, None), (i32::MAX, None), (0, None)]
    {
        message[slot..slot + 4].copy_from_slice(&offset.to_le_bytes());
        let root = Frame::parse(&message).unwrap().root().unwrap();
        assert_eq!(root.object(LEFT).map(|object| object.u8(BYTE)), byte, "{offset}");
    }
    // A count beyond the message is no list.
    let list = HEADER_BYTES + ITEMS;
    for (count, is_list) in [(64, true), (65, false), (u32::MAX, false)] {
        message[list..list + 4].copy_from_slice(&(-8_i32).to_le_bytes());
        message[list + 4..list + 8].copy_from_slice(&count.to_le_bytes());
        let root = Frame::parse(&message).unwrap().root().unwrap();
        assert_eq!(root.list(ITEMS).is_some(), is_list, "{count} in {} bytes", message.len());
    }
}

#[test]
#[should_panic(expected = "within the section")]
fn a_field_outside_of_its_section_is_a_bug() {
    let mut builder = Builder::default();
    let root = builder.root(8);
    builder.u32(root, 5, 1);
}

proptest! {
    #[test]
    fn objects_round_trip(node in nodes()) {
        let message = built(&node);
        let back = read(Frame::parse(&message).unwrap().root().unwrap());
        // NaNs are not equal to themselves: compare what they are made of.
        prop_assert_eq!(format!("{back:?}"), format!("{node:?}"));
        prop_assert_eq!(built(&back), message);
    }

    #[test]
    fn every_truncation_and_flipped_byte_is_read_without_panic(node in nodes(), flip: u8) {
        let whole = built(&node);
        for end in 0..whole.len() {
            walk_message(&whole[..end]);
            let mut cut = whole[..end].to_vec();
            if end >= HEADER_BYTES {
                cut[12..16].copy_from_slice(&(end as u32).to_le_bytes());
                walk_message(&cut);
            }
        }
        let mut flipped = whole;
        for at in 0..flipped.len() {
            let sent = flipped[at];
            for value in [flip, !sent, 0, 0xff] {
                flipped[at] = value;
                walk_message(&flipped);
            }
            flipped[at] = sent;
        }
    }

    #[test]
    fn arbitrary_objects_never_panic(object in vec(any::<u8>(), 0..200), small: bool) {
        let mut message = b"ZAP\0\x01\0\0\0\x10\0\0\0".to_vec();
        message.extend_from_slice(&(16 + object.len() as u32).to_le_bytes());
        message.extend_from_slice(&object);
        if small {
            for quad in message[16..].chunks_exact_mut(4) {
                let negative = quad[0] & 1 == 1;
                quad[1..].fill(if negative { 0xff } else { 0 });
            }
        }
        walk_message(&message);
    }

    #[test]
    fn packed_messages_unpack(message in vec(prop_oneof![3 => Just(0_u8), 1 => any::<u8>()], 0..400), plain in vec(any::<u8>(), 0..100)) {
        for message in [&message, &plain, &[&message[..], &plain].concat()] {
            let (mut packed, mut back) = (Vec::new(), b"before".to_vec());
            pack(message, &mut packed);
            let padded = message.len().next_multiple_of(8);
            prop_assert_eq!(unpack(&packed, &mut back, padded), Ok(()));
            prop_assert_eq!(&back[6..6 + message.len()], &message[..]);
            prop_assert!(back[6 + message.len()..].iter().all(|byte| *byte == 0) && back.len() == 6 + padded);
            if padded > 0 {
                let short = unpack(&packed, &mut Vec::new(), padded - 1);
                prop_assert_eq!(short, Err(UnpackError::TooLarge { max_bytes: padded - 1 }));
            }
        }
    }

    #[test]
    fn arbitrary_packed_bytes_never_panic_or_grow_beyond_the_bound(packed in vec(any::<u8>(), 0..300), max in 0usize..5000) {
        let mut out = Vec::new();
        let _ = unpack(&packed, &mut out, max);
        prop_assert!(out.len() <= max);
    }
}
