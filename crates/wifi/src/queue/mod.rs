//! Packet queues above the MAC.
