//! What `POST /rpc` answers: the one definition that server, loader and benches share.
//!
//! Owns the fold from a request record to its response record (ZAP wire §6). The JSON twin carries account and hash
//! as text; its account goes through the same fold as the bytes of that text.

use crate::zap::record::{Request, Response};

/// The balance before the fold: 10^18.
pub const BALANCE_BASE: u64 = 1_000_000_000_000_000_000;

/// The nonce of each answer.
pub const NONCE: u64 = 42;

/// The block hash of each answer.
pub const BLOCK_HASH: [u8; 32] = [
    0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10, 0x0f, 0x1e, 0x2d,
    0x3c, 0x4b, 0x5a, 0x69, 0x78, 0x87, 0x96, 0xa5, 0xb4, 0xc3, 0xd2, 0xe1, 0xf0,
];

/// The account of the sample request.
pub const SAMPLE_ACCOUNT: [u8; 20] = [
    0xde, 0xad, 0xbe, 0xef, 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee,
    0xff,
];

/// The request that the rpc scenario sends: 82 bytes as a record.
pub const SAMPLE_REQUEST: Request<'static> =
    Request { id: 1, block: 0x10d4f, method: b"eth_getBalance", account: &SAMPLE_ACCOUNT };

/// Answers one call. The balance depends on all four fields but the id, so that a server which did not decode them
/// is found out; an empty account folds as if its first byte were 0.
#[inline]
pub fn answer(request: &Request<'_>) -> Response<'static> {
    let first_account_byte = request.account.first().copied().unwrap_or(0);
    let fold =
        request.block ^ request.method.len() as u64 ^ request.account.len() as u64 ^ u64::from(first_account_byte);
    Response { id: request.id, balance: BALANCE_BASE ^ fold, nonce: NONCE, block_hash: &BLOCK_HASH }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_but_the_id_moves_the_balance() {
        let base = answer(&SAMPLE_REQUEST);
        assert_eq!((base.id, base.nonce, base.block_hash), (1, 42, &BLOCK_HASH[..]));
        assert_eq!(base.balance, BALANCE_BASE ^ 0x10d4f ^ 14 ^ 20 ^ 0xde);
        let others = [
            Request { block: 0, ..SAMPLE_REQUEST },
            Request { method: b"", ..SAMPLE_REQUEST },
            Request { account: b"", ..SAMPLE_REQUEST },
            Request { account: &[0x30; 20], ..SAMPLE_REQUEST },
        ];
        for other in others {
            assert_ne!(answer(&other).balance, base.balance, "{other:?}");
        }
    }
}
