//! What allocates: no operation on zap, and none of http's reading.

use std::sync::atomic::AtomicBool;

use axis::suite::{Ask, run};

#[global_allocator]
static COUNTING: counting::Counting = counting::Counting;

#[test]
fn no_operation_on_zap_allocates() {
    let ask = Ask { only: "", rounds: 0, allocations: counting::of_this_thread, instructions_of: None };
    let axis = run(&ask, &AtomicBool::new(false)).expect("every case does its work");
    for case in &axis.cases {
        let is_ours = case.codec == "zap" || (case.codec == "http" && case.operation == "decode");
        if is_ours {
            assert_eq!(case.allocations, 0, "{} {} {}", case.message, case.operation, case.codec);
        }
    }
    assert!(axis.cases.iter().any(|case| case.allocations > 0), "the counter counts: some JSON library allocates");
}
