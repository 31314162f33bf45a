use super::*;
use std::io::Read;

#[test]
fn a_link_carries_bytes_one_way() {
    for transport in [Transport::Pipe, Transport::Socketpair] {
        let Link { reader, writer } = transport.link(Mode::Blocking).unwrap();
        let (mut reader, mut writer) = (File::from(reader), File::from(writer));
        writer.write_all(&[1, 2]).unwrap();
        drop(writer);
        let mut all = Vec::new();
        reader.read_to_end(&mut all).unwrap();
        assert_eq!(all, [1, 2]);
    }
}

#[test]
fn a_nonblocking_link_does_not_wait() {
    for transport in [Transport::Pipe, Transport::Socketpair] {
        let link = transport.link(Mode::NonBlocking).unwrap();
        let error = File::from(link.reader).read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
    }
}

fn payload(bytes: u64) -> Payload {
    Payload {
        bytes: Bytes(bytes),
    }
}

fn is_refused(checked: anyhow::Result<()>, words: &[&str]) {
    let error = checked.unwrap_err();
    assert!(error.downcast_ref::<BadUsage>().is_some(), "{error}");
    for word in words {
        assert!(error.to_string().contains(word), "{word}: {error}");
    }
}

#[test]
fn more_tokens_than_the_links_hold_are_refused() {
    let chain = |tokens| Chain {
        transport: Transport::Socketpair,
        tokens,
    };
    assert!(chain(2).check_room(payload(1)).is_ok());
    let checked = chain(u32::MAX).check_room(payload(1));
    is_refused(checked, &["--tokens", "pipe"]);
    let checked = chain(u32::MAX).check_room_along(3, payload(1));
    is_refused(checked, &["--tokens", "pipe"]);
}

#[test]
fn the_larger_tokens_are_the_fewer_a_link_holds() {
    let held = |bytes| Transport::Pipe.capacity(payload(bytes)).unwrap();
    let (all, page) = (held(1), held(4096));
    assert_eq!(all, page * 4096);
    // Two of these do not share a page.
    assert_eq!(held(2049), page);
    assert_eq!((held(all), held(all + 1)), (1, 0));
    let chain = Chain {
        transport: Transport::Pipe,
        tokens: page as u32 + 1,
    };
    is_refused(
        chain.check_room(payload(4096)),
        &["--tokens", "--bytes 4096", &format!("at most {page}")],
    );
}

#[test]
fn one_token_of_any_size_goes_through_a_chain_but_not_through_one_thread() {
    for transport in [Transport::Pipe, Transport::Socketpair] {
        let chain = Chain {
            transport,
            tokens: 1,
        };
        let large = payload(1 << 30);
        assert!(chain.check_room_along(1, large).is_ok());
        is_refused(chain.check_room(large), &["--bytes 1073741824"]);
    }
}

#[test]
fn each_task_holds_a_token_however_large() {
    let room = |tokens, tasks| {
        let chain = Chain {
            transport: Transport::Pipe,
            tokens,
        };
        chain.check_room_along(tasks, payload(1 << 20))
    };
    assert!(room(5, 5).is_ok());
    is_refused(room(6, 5), &["--tokens 6", "--bytes 1048576", "at most 5"]);
}

#[test]
fn where_each_link_holds_one_there_is_room_for_as_many_as_there_are() {
    let room = |transport, tokens| Chain { transport, tokens }.check_room_along(3, payload(1));
    assert!(room(Local::Eventfd, 4).is_ok() && room(Local::Eventfd, 5).is_err());
    assert!(room(Local::Pipe, 5).is_ok());
    let alone = |tokens| Chain {
        transport: Local::Eventfd,
        tokens,
    };
    assert!(alone(1).check_room(payload(1)).is_ok());
    let checked = alone(2).check_room(payload(1));
    assert!(checked.is_err(), "nobody passes them on");
}

#[test]
fn an_eventfd_carries_no_bytes() {
    let chain = Chain {
        transport: Local::Eventfd,
        tokens: 1,
    };
    is_refused(chain.check_room(payload(2)), &["--bytes 2", "--transport"]);
    is_refused(chain.check_room_along(9, payload(8)), &["--bytes 8"]);
}

#[test]
fn lost_tokens_are_found() {
    assert!(verify_passed(30, 5, 6).is_ok());
    assert!(verify_passed(29, 5, 6).is_err());
}
