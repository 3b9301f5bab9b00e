//! Any datagrams, at any time, also such as a client with the session's keys
//! could send: no panic, nothing to an address that was not proven, and every
//! session ends.

#![no_main]

use lasthop_apq::auth::{self, Side};
use lasthop_apq::wire::{self, Datagram, Message};
use lasthop_apq::{
    HostClock, Proof, Proofs, Received, Server, ServerConfig, SocketId, TransmitKind,
};
use lasthop_units::{Duration, Instant, Machine};
use libfuzzer_sys::fuzz_target;
use std::net::SocketAddr;

/// Packets that one event lets leave, at most.
const BURST_MAX: usize = 100_000;

fn handle(server: &mut Server, from: SocketAddr, at: Instant, payload: &[u8]) {
    let (socket, length) = (SocketId::Control, payload.len() as u16);
    server.handle_datagram(at, Received { socket, from, at, payload, length });
}

fn answer(server: &mut Server, now: Instant) -> Vec<u8> {
    server.poll_transmit(now).expect("it answers what is right").payload
}

/// Proves an address; the token.
fn prove(server: &mut Server, from: SocketAddr, nonce: [u8; 16]) -> [u8; auth::TOKEN_BYTES] {
    let now = Instant::ZERO;
    handle(server, from, now, &wire::emit(&Datagram::Hello(nonce)));
    match wire::parse(&answer(server, now)) {
        Ok(Datagram::Challenge { token, .. }) => token,
        other => panic!("{other:?}"),
    }
}

/// Takes note of the proof of reception that a datagram carries.
fn note(proofs: &mut Proofs, payload: &[u8], to_bulk: bool) {
    let shown = match wire::parse(payload) {
        Ok(Datagram::Sealed(sealed)) => sealed.proofs,
        Ok(Datagram::Probe(probe)) if to_bulk => [Proof::default(), probe.proof],
        Ok(Datagram::Probe(probe)) => [probe.proof, Proof::default()],
        _ => return,
    };
    for (newest, proof) in proofs.iter_mut().zip(shown) {
        if proof.at_ms > newest.at_ms {
            *newest = proof;
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    if let Ok(Datagram::Sealed(sealed)) = wire::parse(bytes) {
        let _ = sealed.message();
    }
    let (control, bulk) =
        (SocketAddr::from(([192, 0, 2, 1], 5_000)), SocketAddr::from(([192, 0, 2, 1], 5_001)));
    let mut server = Server::new(ServerConfig {
        key: None,
        secret: [2; 32],
        clock: HostClock::default(),
        sessions_max: 2,
        rate_max_bps: 1_000_000_000,
        rate_total_max_bps: 1_000_000_000,
        duration_max: Duration::from_secs(600),
        phase_packets_max: 10_000,
        samples_max: 20_000,
    });
    let nonce = [1; 16];
    let token = prove(&mut server, control, nonce);
    let handshake = auth::handshake_key(None, &nonce, &token);
    let mac_tag = auth::mac_tag(&handshake, &wire::open_covered(&nonce, &token));
    let open = Datagram::Open { nonce, token, mac_tag };
    handle(&mut server, control, Instant::ZERO, &wire::emit(&open));
    let session = match wire::parse(&answer(&mut server, Instant::ZERO)) {
        Ok(Datagram::Accepted { accepted, .. }) => accepted.session,
        other => panic!("{other:?}"),
    };
    let key = auth::session_key(&handshake, session, Side::Client);
    let token = prove(&mut server, bulk, nonce);
    let attach =
        wire::seal(&Message::Attach { nonce, token }, session, 1, &Proofs::default(), &key);
    handle(&mut server, bulk, Instant::ZERO, &attach);

    let mut proofs = Proofs::default();
    note(&mut proofs, &answer(&mut server, Instant::ZERO), true);
    let (mut now, mut number) = (Instant::ZERO, 1);
    let mut rest = bytes;
    while let [pause, how, length, tail @ ..] = rest {
        let (body, tail) = tail.split_at(usize::from(*length).min(tail.len()));
        rest = tail;
        now += Duration::from_micros(u64::from(*pause) * u64::from(*pause) * 100);
        server.handle_timeout(now);
        match how % 4 {
            // Plain bytes.
            0 => handle(&mut server, control, now, body),
            // A packet of a flow.
            1 => {
                let mut probe = wire::MAGIC.to_vec();
                probe.extend([wire::VERSION, 7 + (how >> 7)]);
                probe.extend(session.to_be_bytes());
                probe.extend(body);
                handle(&mut server, if how >> 7 == 0 { control } else { bulk }, now, &probe);
            }
            // Any message under the right key.
            _ => {
                number += 1;
                let mut message = wire::MAGIC.to_vec();
                message.extend([wire::VERSION, 16 + (how >> 4)]);
                message.extend(session.to_be_bytes());
                message.extend(u32::to_be_bytes(number));
                for proof in proofs {
                    message.extend(proof.at_ms.to_be_bytes());
                    message.extend(proof.value.to_be_bytes());
                }
                message.extend(body);
                let mac_tag = auth::mac_tag(&key, &message);
                message.extend(mac_tag);
                handle(&mut server, control, now, &message);
            }
        }
        let mut sent = 0;
        while let Some(transmit) = server.poll_transmit(now) {
            assert!(transmit.to == control || transmit.to == bulk);
            note(&mut proofs, &transmit.payload, transmit.to == bulk);
            if let TransmitKind::Probe(kind) = transmit.kind
                && sent == usize::from(*pause)
            {
                server.handle_unsent(now, transmit.to, kind);
            }
            sent += 1;
            assert!(sent < BURST_MAX, "it sends without end");
        }
        while server.poll_event().is_some() {}
    }
    for _ in 0..BURST_MAX {
        let Some((at, _)) = server.poll_timeout() else { return };
        now = now.max(at);
        server.handle_timeout(now);
        while server.poll_transmit(now).is_some() {}
    }
    panic!("a session does not end");
});
