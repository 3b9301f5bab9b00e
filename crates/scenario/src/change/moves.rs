//! Sets that move to another channel during the run.

use super::Scenario;
use lasthop_net::network::Change;
use lasthop_packet::NodeId;
use lasthop_wifi::StationId;
use lasthop_wifi::cell::{CellConfig, Role};
use lasthop_wifi::mac::channel_switch::ChannelSwitch;

/// Adds the moves that turn the channels of one scenario into those of the other, in `reached`.
pub(super) fn moves(
    now: &Scenario,
    then: &Scenario,
    reached: &mut CellConfig,
    to: &CellConfig,
    node_of: &dyn Fn(StationId) -> NodeId,
    changes: &mut Vec<Change>,
) -> Result<(), String> {
    for (id, station) in (0..).map(StationId).zip(&to.stations) {
        let node = node_of(id);
        // A neighbour without a channel of its own stays, although the set moves that it names.
        if station.role != Role::AccessPoint || then.nodes[node.index()].is_neighbours {
            continue;
        }
        let set = station.bss;
        let (is, shall) = (reached.channel_of(set).primary, to.channel_of(set).primary);
        let rules = |of: &Scenario| of.switches.get(set.index()).copied().flatten();
        let (before, rules) = (rules(now), rules(then));
        let has_failed = |of: &Scenario| {
            let cell = of.network.cell.as_ref();
            cell.is_some_and(|cell| cell.stations[id.index()].failed)
        };
        let Some(rules) = rules else {
            if is == shall {
                continue;
            }
            return Err("the channel of a set changes only if the run begins with its [[cell]] \
                        channel_switch = {}"
                .into());
        };
        let check = rules.check_on(to.band, shall, station.capabilities.width());
        let comes_back = has_failed(now) && !has_failed(then) && rules.check_after_failure;
        let radar = rules.radar && !before.is_some_and(|before| before.radar);
        let quiet = rules.quiet || radar;
        if is != shall {
            let order = ChannelSwitch { to: shall, count: rules.count, quiet, check, radar };
            changes.push(Change::Channel { node, order });
        } else if comes_back && !check.is_zero() {
            let order = ChannelSwitch { to: shall, count: 0, quiet, check, radar };
            changes.push(Change::Channel { node, order });
        }
    }
    reached.channels = to.channels.clone();
    for (is, shall) in reached.stations.iter_mut().zip(&to.stations) {
        if let (Some(is), Some(shall)) = (&mut is.roaming, &shall.roaming) {
            is.members = shall.members.clone();
        }
    }
    Ok(())
}
