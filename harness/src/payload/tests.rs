use std::io::ErrorKind;

use super::*;

fn payload(bytes: u64) -> Payload {
    Payload {
        bytes: Bytes(bytes),
    }
}

/// Tokens as they come out of a chain.
fn out_of(pattern: &Pattern, start: u8, tokens: u8, tasks: u32) -> Vec<u8> {
    let mut all: Vec<u8> = Vec::new();
    for k in 0..tokens {
        let at = all.len();
        all.extend(pattern.token(start.wrapping_add(k)));
        all[at] = all[at].wrapping_add(tasks as u8);
    }
    all
}

#[test]
fn a_token_begins_with_its_number() {
    for size in [1, 2, 9, 4096] {
        let pattern = Pattern::new(payload(size));
        for number in [0, 1, 255] {
            let token = pattern.token(number);
            assert_eq!((token[0], token.len() as u64), (number, size));
        }
    }
}

#[test]
fn tokens_that_visited_each_task_once_pass() {
    for size in [1, 2, 7, 8, 9, 4096, 65_537] {
        let pattern = Pattern::new(payload(size));
        for (start, tasks) in [(0, 1), (250, 5), (255, 1000)] {
            let tokens = out_of(&pattern, start, 7, tasks);
            pattern.verify(&tokens, start, tasks).unwrap();
            let error = pattern.verify(&tokens, start, tasks + 1).unwrap_err();
            assert!(error.to_string().contains("did not visit"), "{error}");
        }
    }
}

#[test]
fn any_byte_that_is_wrong_is_found() {
    for size in [1u64, 2, 7, 8, 9, 300, 4096] {
        let pattern = Pattern::new(payload(size));
        let good = out_of(&pattern, 254, 3, 9);
        for i in 0..good.len() {
            for flip in [1, 0x80, 0xff] {
                let mut bad = good.clone();
                bad[i] ^= flip;
                let error = pattern.verify(&bad, 254, 9).unwrap_err().to_string();
                assert!(
                    error.contains(&format!("token {} ", i as u64 / size)),
                    "{error}"
                );
            }
        }
    }
}

#[test]
fn a_byte_lost_doubled_or_swapped_is_found_wherever_it_was() {
    let pattern = Pattern::new(payload(5000));
    let good = out_of(&pattern, 77, 2, 3);
    for i in 0..good.len() - 1 {
        let mut lost = good.clone();
        lost.remove(i);
        lost.push(0);
        assert!(pattern.verify(&lost, 77, 3).is_err(), "lost {i}");
        let mut doubled = good.clone();
        doubled.insert(i, good[i]);
        doubled.pop();
        assert!(pattern.verify(&doubled, 77, 3).is_err(), "doubled {i}");
        let mut swapped = good.clone();
        swapped.swap(i, i + 1);
        assert!(pattern.verify(&swapped, 77, 3).is_err(), "swapped {i}");
    }
}

#[test]
fn swapped_pages_and_tokens_are_found() {
    let size = 1 << 20;
    let pattern = Pattern::new(payload(size as u64));
    let good = out_of(&pattern, 5, 2, 1);
    for page in [4096, 65_536] {
        for i in 1..size / page - 1 {
            let mut bad = good[..size].to_vec();
            bad[i * page..][..2 * page].rotate_left(page);
            assert!(pattern.verify(&bad, 5, 1).is_err(), "{page} {i}");
        }
    }
    let mut bad = good;
    bad.rotate_left(size);
    assert!(pattern.verify(&bad, 5, 1).is_err());
    // With the right number, but the bytes of the other one.
    bad[0] = bad[0].wrapping_sub(1);
    assert!(pattern.verify(&bad, 5, 1).is_err());
}

#[test]
fn a_token_that_is_cut_short_is_found() {
    let pattern = Pattern::new(payload(8));
    let tokens = out_of(&pattern, 0, 2, 1);
    assert!(pattern.verify(&tokens[..12], 0, 1).is_err());
}

#[test]
fn the_sequence_is_the_documented_one() {
    assert_eq!([0, 1, 255].map(byte), [0, 1, 255]);
    // 2654435761 = 0x9e3779b1; twice that is 0x3c6ef362 (mod 2^32).
    assert_eq!([256, 257, 512].map(byte), [0x9e, 0x9f, 0x3c]);
}

/// What comes out of an intake that is fed in reads of these sizes at most.
fn through(mut intake: impl Intake, stream: &[u8], reads: &[usize]) -> Vec<Vec<u8>> {
    let mut tokens = Vec::new();
    let mut rest = stream;
    let mut sizes = reads.iter().cycle();
    while !rest.is_empty() {
        let room = intake.room();
        assert!(!room.is_empty());
        let read = room.len().min(rest.len()).min(*sizes.next().unwrap());
        room[..read].copy_from_slice(&rest[..read]);
        rest = &rest[read..];
        tokens.extend(intake.whole(read).map(|token| token.to_vec()));
    }
    intake.end().unwrap();
    tokens
}

#[test]
fn tokens_are_put_together_whatever_reads_bring() {
    for size in [2u64, 3, 8, 100] {
        let pattern = Pattern::new(payload(size));
        let stream = out_of(&pattern, 1, 20, 0);
        let expected: Vec<Vec<u8>> = stream.chunks(size as usize).map(<[u8]>::to_vec).collect();
        for buffer in [size as usize, size as usize + 1, 7 * size as usize + 3] {
            for reads in [&[1][..], &[usize::MAX], &[3, 1, 250], &[2]] {
                let parts = Parts::new(payload(size), buffer);
                assert_eq!(through(parts, &stream, reads), expected, "{size} {buffer}");
            }
        }
    }
}

#[test]
fn bytes_are_tokens_as_they_come() {
    let expected = [[4], [5], [6]];
    assert_eq!(through([0; 1], &[4, 5, 6], &[1]), expected);
    assert_eq!(through(vec![0; 2], &[4, 5, 6], &[2]), expected);
}

#[test]
fn an_end_in_the_middle_of_a_token_is_an_error() {
    let mut parts = Parts::new(payload(4), 8);
    assert!(parts.end().is_ok());
    parts.room();
    assert_eq!(parts.whole(5).count(), 1);
    assert_eq!(parts.end().unwrap_err().kind(), ErrorKind::UnexpectedEof);
    assert_eq!(parts.room().len(), 7);
    assert_eq!(parts.whole(3).count(), 1);
    assert!(parts.end().is_ok());
}

#[test]
fn a_driver_asks_for_as_much_as_a_task() {
    let parts = Parts::new(payload(4), 10);
    assert_eq!([0, 1, 4, 7].map(|came| parts.ask(came)), [10, 9, 10, 7]);
    assert_eq!([0; 1].ask(5), 1);
    assert_eq!(vec![0; 3].ask(5), 3);
}

#[test]
fn sizes_out_of_range_are_refused() {
    assert_eq!(size("1GiB"), Ok(LARGEST));
    assert_eq!(size("4k"), Ok(Bytes(4096)));
    for text in ["0", "-1", "1.5k", "1073741825", "2GiB", ""] {
        assert!(size(text).is_err(), "{text}");
    }
}

#[test]
fn a_read_asks_for_a_token_at_least() {
    assert_eq!(payload(1).read_size(1).unwrap(), 1);
    assert_eq!(payload(1).read_size(16).unwrap(), 16);
    assert_eq!(payload(9).read_size(1).unwrap(), 9);
    assert_eq!(payload(9).read_size(9).unwrap(), 9);
    assert_eq!(payload(9).read_size(64).unwrap(), 64);
    let error = payload(9).read_size(8).unwrap_err();
    assert!(error.downcast_ref::<BadUsage>().is_some(), "{error}");
}

#[test]
fn a_byte_needs_no_memory() {
    assert_eq!(payload(1).demand(4096).of(1000), Need::NONE);
    let need = payload(1 << 20).demand(3).of(10);
    assert!(need.memory >= 14 << 20, "10 tasks, 3 tokens, the sequence");
    assert!(need.largest_map >= 3 << 20);
}
