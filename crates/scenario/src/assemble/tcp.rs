//! TCP flows: behaviour of the application, and of the endpoints in virtual time.

use super::nodes::Expanded;
use super::positive;
use crate::raw::{LocalDrop, Offered, PacingKind, RawFlow, RawTcp, ReceiverKind, SmallQueuesKind};
use lasthop_config::error::Problems;
use lasthop_hosts::{ReceiveOffload, TcpApplication, TcpFlow};
use lasthop_tcp::{
    Config, CongestionControlKind, DelayedAck, HyStart, PACKET_OVERHEAD_BYTES, Pacing, Recovery,
    SmallQueues, WindowValidation,
};
use lasthop_units::{Bytes, Duration};

/// Linux' sk_pacing_shift: 2^-10 s is about a millisecond.
const PACING_SHIFT: u8 = 10;

/// The shift of mac80211, which requests 8 ms for its aggregates.
const PACING_SHIFT_WIFI: u8 = 7;

/// Linux' tcp_limit_output_bytes, today and in 3.13.
const LIMIT_OUTPUT: Bytes = Bytes::new(4 << 20);
const LIMIT_OUTPUT_3_13: Bytes = Bytes::new(128 << 10);

/// Bytes of a buffer of 2304 beside a packet of 1500.
const OVERHEAD_3_13: Bytes = Bytes::new(804);

/// Returns a flow before its ends are known.
pub(super) fn flow(flow: &RawFlow, problems: &mut Problems) -> Box<TcpFlow> {
    let control = flow.congestion_control.as_ref();
    let control = control.map_or_else(|| "cubic".into(), |control| control.value.0.clone());
    if let Some(bytes) = &flow.bytes {
        positive(bytes, problems);
    }
    Box::new(TcpFlow {
        endpoints: endpoint(&flow.tcp, &control, problems).map(|endpoint| [endpoint; 2]),
        metrics_save: flow.tcp.metrics_save.value,
        receive_offload: receive_offload(&flow.tcp, problems),
        congestion_control: control,
        bytes: flow.bytes.as_ref().map(|bytes| bytes.value),
        application: application(flow, problems),
    })
}

fn receive_offload(raw: &RawTcp, problems: &mut Problems) -> Option<ReceiveOffload> {
    let segments_max = raw.receive_offload.value.get();
    let wait = raw.receive_offload_wait.value;
    if segments_max == 1 && !wait.is_zero() {
        problems
            .push(&raw.receive_offload_wait.place, "expected a receive_offload above 1 with it");
    }
    (segments_max > 1).then_some(ReceiveOffload { segments_max, wait })
}

/// Returns the flow between two nodes: settings that depend on the places of the endpoints.
pub(super) fn between(
    mut flow: Box<TcpFlow>,
    raw: &RawTcp,
    from: &Expanded<'_>,
    to: &Expanded<'_>,
) -> Box<TcpFlow> {
    let Some(endpoints) = &mut flow.endpoints else { return flow };
    for (endpoint, node) in endpoints.iter_mut().zip([from, to]) {
        if let SmallQueues::Pacing { shift, .. } = &mut endpoint.small_queues
            && raw.pacing_shift.is_none()
            && node.is_wifi()
        {
            *shift = PACING_SHIFT_WIFI;
        }
    }
    flow
}

fn application(flow: &RawFlow, problems: &mut Problems) -> TcpApplication {
    let rate = match &flow.rate {
        Some(rate) => match rate.value {
            Offered::Rate(value) => Some((value, rate)),
            Offered::Saturated => None,
        },
        None => None,
    };
    if let (Some((_, rate)), Some(_)) = (&rate, &flow.bytes) {
        problems.push(&rate.place, "a transfer of so many bytes goes as fast as it can; give one");
    }
    let Some(requests) = &flow.requests else {
        return rate.map_or(TcpApplication::Bulk, |(rate, _)| TcpApplication::Rate(rate));
    };
    if let Some((_, rate)) = rate {
        problems.push(&rate.place, "requests have no rate; give a time to think");
    }
    if let Some(bytes) = &flow.bytes {
        problems.push(&bytes.place, "requests have their own lengths; leave this out");
    }
    positive(&requests.request, problems);
    positive(&requests.response, problems);
    TcpApplication::Requests {
        request: requests.request.value,
        response: requests.response.value,
        think: requests.think.value,
    }
}

/// `None` for a congestion control that only a kernel has.
fn endpoint(raw: &RawTcp, control: &str, problems: &mut Problems) -> Option<Config> {
    positive(&raw.timeout_min, problems);
    for window in [&raw.receive_window, &raw.send_window] {
        positive(window, problems);
        if window.value > Bytes::new(1 << 30) {
            // RFC 7323, 2.3: the largest window that can be scaled.
            problems.push(&window.place, "expected at most 1 GiB");
        }
    }
    let congestion_control = CongestionControlKind::named(control, raw.hystart.value)?;
    let recovery = raw.recovery.value;
    check_control(raw, congestion_control, control, problems);
    if raw.accurate_ecn.value && !raw.ecn.value && !congestion_control.needs_marks() {
        problems.push(&raw.accurate_ecn.place, "expected ecn = true with it");
    }
    if recovery != Recovery::Today && raw.hystart.value == HyStart::PlusPlus {
        problems.push(
            &raw.hystart.place,
            "expected \"linux\" or \"off\" with an older kernel's recovery: RFC 9406 came later",
        );
    }
    let small_queues = raw.small_queues.as_ref().map_or_else(
        || match recovery {
            Recovery::Linux32 => SmallQueuesKind::Off,
            Recovery::Linux313 => SmallQueuesKind::Fixed(LIMIT_OUTPUT_3_13),
            Recovery::Today => SmallQueuesKind::Pacing,
        },
        |at| at.value,
    );
    if let Some(shift) = &raw.pacing_shift
        && small_queues != SmallQueuesKind::Pacing
    {
        problems.push(&shift.place, "this key is for small_queues = \"pacing\" only");
    }
    let overhead = raw.small_queues_overhead.as_ref().map(|at| at.value);
    let window_validation = raw.window_validation.as_ref().map_or_else(
        || match recovery {
            Recovery::Today => WindowValidation::Linux,
            Recovery::Linux32 | Recovery::Linux313 => WindowValidation::Linux3,
        },
        |at| at.value,
    );
    let delayed_ack = delayed_ack(raw, problems);
    Some(Config {
        recovery,
        congestion_control,
        initial_window: raw.initial_window.value.get(),
        window_validation,
        small_queues: match small_queues {
            SmallQueuesKind::Off => SmallQueues::Off,
            SmallQueuesKind::Pacing => {
                let shift = raw.pacing_shift.as_ref().map_or(PACING_SHIFT, |at| at.value.get());
                let overhead = overhead.unwrap_or(Bytes::new(PACKET_OVERHEAD_BYTES));
                SmallQueues::Pacing { limit: LIMIT_OUTPUT, shift, overhead }
            }
            SmallQueuesKind::Fixed(limit) => {
                SmallQueues::Fixed { limit, overhead: overhead.unwrap_or(OVERHEAD_3_13) }
            }
        },
        send_offload: raw.send_offload.value,
        pacing: match raw.pacing.value {
            PacingKind::Off => Pacing::Off,
            PacingKind::Window => Pacing::Linux,
            PacingKind::Rate(rate) => Pacing::Fixed(rate),
        },
        delayed_ack,
        receive_window: raw.receive_window.value,
        send_window: raw.send_window.value,
        sack: raw.sack.value,
        timeout_min: raw.timeout_min.value,
        local_congestion: raw.local_drop.value == LocalDrop::Refused,
        threshold_initial: raw.ssthresh_initial.as_ref().map(|at| at.value.get()),
        ecn: raw.ecn.value,
        accurate_ecn: raw.accurate_ecn.value,
        ..Config::default()
    })
}

/// Reports settings that have no effect with this control.
fn check_control(
    raw: &RawTcp,
    kind: CongestionControlKind,
    control: &str,
    problems: &mut Problems,
) {
    if !kind.is_bbr() && !kind.needs_marks() {
        return;
    }
    if raw.recovery.value != Recovery::Today {
        let origin = match kind {
            CongestionControlKind::Bbr => "came with Linux 4.9",
            CongestionControlKind::Dctcp => "needs accurate feedback, which came with Linux 6.18",
            _ => "Linux 3 does not have",
        };
        problems.push(
            &raw.recovery.place,
            format!("expected \"today\" with congestion_control = {control:?}, which {origin}"),
        );
    }
    if raw.hystart.value != HyStart::Linux {
        problems.push(&raw.hystart.place, "this key is for congestion_control = \"cubic\" only");
    }
    if !kind.is_bbr() {
        return;
    }
    let validation = raw.window_validation.as_ref().map(|at| &at.place);
    let threshold = raw.ssthresh_initial.as_ref().map(|at| &at.place);
    for place in [validation, threshold].into_iter().flatten() {
        let message = format!("this key has no effect with congestion_control = {control:?}");
        problems.push(place, message);
    }
}

/// The timing of acknowledgements.
fn delayed_ack(raw: &RawTcp, problems: &mut Problems) -> DelayedAck {
    let (segments, delay, quick) = (&raw.ack_segments, &raw.ack_delay, &raw.quick_acks);
    let default = DelayedAck::default();
    if raw.receiver.value == ReceiverKind::MacOs {
        let given = [segments.as_ref().map(|at| &at.place), delay.as_ref().map(|at| &at.place)];
        for place in given.into_iter().chain([quick.as_ref().map(|at| &at.place)]).flatten() {
            problems.push(place, "this key is for receiver = \"linux\" only");
        }
        // tcp_delack of xnu; it has no quick acknowledgements.
        let delay = Duration::from_millis(100);
        return DelayedAck { delay, quick_segments: 0, stretches: true, ..default };
    }
    if let Some(delay) = delay {
        positive(delay, problems);
    }
    DelayedAck {
        segments: segments.as_ref().map_or(default.segments, |at| at.value.get()),
        delay: delay.as_ref().map_or(default.delay, |at| at.value),
        quick_segments: quick.as_ref().map_or(default.quick_segments, |at| at.value.get()),
        stretches: false,
    }
}
