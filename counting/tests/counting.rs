//! What is counted, by a program whose allocator this is. One test: the figures of the process are everybody's.

use std::hint::black_box;

#[global_allocator]
static COUNTING: counting::Counting = counting::Counting;

#[test]
fn a_threads_allocations_are_its_own_and_the_processs_are_counted_once_asked() {
    let before = counting::of_this_thread();
    drop(black_box(Box::new(1)));
    let mut grown: Vec<u8> = Vec::with_capacity(1);
    grown.reserve(64);
    black_box(&grown);
    black_box(vec![0_u8; 64]);
    assert_eq!(counting::of_this_thread() - before, 4);
    let other = std::thread::spawn(|| (0..100).for_each(|n| drop(black_box(Box::new(n)))));
    let own = counting::of_this_thread();
    other.join().expect("it only allocates");
    assert!(counting::of_this_thread() - own < 50, "another thread's allocations");

    assert_eq!(counting::of_the_process(), None);
    counting::count_the_process();
    let begun = counting::of_the_process().expect("it counts");
    let held = black_box(vec![1_u8; 1 << 20]);
    let with = counting::of_the_process().expect("it counts");
    drop(held);
    let without = counting::of_the_process().expect("it counts");
    assert!(with.allocations > begun.allocations && without.allocations >= with.allocations);
    // The test's own machinery may hold a little more or less meanwhile.
    assert!((with.live_bytes - begun.live_bytes - (1 << 20)).abs() < 1 << 16, "{begun:?} {with:?}");
    assert!((with.live_bytes - without.live_bytes - (1 << 20)).abs() < 1 << 16, "{with:?} {without:?}");
}
