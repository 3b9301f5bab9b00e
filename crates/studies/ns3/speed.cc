// One of the workloads of `validate speed` in ns-3 3.37: speed WORKLOAD SECONDS.
// Prints the packets that reached the end of their flow and the user CPU time in
// microseconds, in so many seconds of virtual time. All stations are associated by then,
// and queues are full: neither the start of the program nor of the network counts.
//
// As in the workloads of lasthop: packets of 1500 bytes, constant rate, queues of 500
// packets, stations 1 m from the access point. "Saturated" is a rate a tenth above what
// gets through.

#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/mobility-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>
#include <ns3/wifi-module.h>

#include <sys/resource.h>

#include <cmath>
#include <iostream>
#include <string>

using namespace ns3;

namespace
{

// What a workload is made of.
struct Workload
{
    const char* name;
    uint32_t stations;
    bool fast; // 40 MHz, short guard interval, MCS 15; else 20 MHz, long, MCS 7.
    uint32_t ampduBytesMax;
    bool tcp;
    double packetsPerSecond; // Offered by all together.
};

const Workload WORKLOADS[] = {
    {"ampdu", 1, true, 65535, false, 23900},
    {"single", 1, true, 0, false, 4600},
    {"fifty", 50, false, 0, false, 2200},
    {"fifty-ampdu", 50, false, 65535, false, 3700},
    {"down", 1, true, 65535, true, 0},
};

// Fifty stations are associated after less than 6 s; then traffic begins.
const double TRAFFIC_AT = 6.0;
const double MEASURED_FROM = 7.0;
const uint16_t PORT = 9;

uint64_t g_packets;
uint64_t g_packetsBefore;
double g_userBefore;

void
Received(Ptr<const Packet>, const Address&)
{
    g_packets++;
}

// With TCP a packet is what the station's IP takes in.
void
Taken(const Ipv4Header&, Ptr<const Packet>, uint32_t)
{
    g_packets++;
}

double
UserMicroseconds()
{
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec * 1e6 + usage.ru_utime.tv_usec;
}

void
Begin()
{
    g_packetsBefore = g_packets;
    g_userBefore = UserMicroseconds();
}

void
End()
{
    std::cout << g_packets - g_packetsBefore << " " << UserMicroseconds() - g_userBefore << "\n";
    Simulator::Stop();
}

} // namespace

int
main(int argc, char* argv[])
{
    const Workload* work = nullptr;
    for (const Workload& candidate : WORKLOADS)
    {
        if (argc == 3 && std::string(argv[1]) == candidate.name)
        {
            work = &candidate;
        }
    }
    if (work == nullptr)
    {
        std::cerr << "speed WORKLOAD SECONDS; workloads:";
        for (const Workload& candidate : WORKLOADS)
        {
            std::cerr << " " << candidate.name;
        }
        std::cerr << "\n";
        return 2;
    }
    const double seconds = std::stod(argv[2]);

    Config::SetDefault("ns3::WifiMacQueue::MaxSize", QueueSizeValue(QueueSize("500p")));
    Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Seconds(100)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4 << 20));

    NodeContainer ap(1);
    NodeContainer stations(work->stations);

    YansWifiChannelHelper channel = YansWifiChannelHelper::Default();
    YansWifiPhyHelper phy;
    phy.SetChannel(channel.Create());
    phy.Set("ChannelSettings", StringValue(work->fast ? "{0, 40, BAND_5GHZ, 0}" : "{0, 20, BAND_5GHZ, 0}"));
    phy.Set("Antennas", UintegerValue(2));
    phy.Set("MaxSupportedTxSpatialStreams", UintegerValue(2));
    phy.Set("MaxSupportedRxSpatialStreams", UintegerValue(2));
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211n);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode",
                                 StringValue(work->fast ? "HtMcs15" : "HtMcs7"),
                                 "ControlMode",
                                 StringValue("OfdmRate24Mbps"));
    WifiMacHelper mac;
    const Ssid ssid("speed");
    const auto install = [&](const char* type, const NodeContainer& nodes) {
        mac.SetType(type,
                    "QosSupported",
                    BooleanValue(true),
                    "Ssid",
                    SsidValue(ssid),
                    "BE_MaxAmpduSize",
                    UintegerValue(work->ampduBytesMax));
        return wifi.Install(phy, mac, nodes);
    };
    NetDeviceContainer stationDevices = install("ns3::StaWifiMac", stations);
    NetDeviceContainer apDevice = install("ns3::ApWifiMac", ap);
    Config::Set("/NodeList/*/DeviceList/*/$ns3::WifiNetDevice/HtConfiguration/"
                "ShortGuardIntervalSupported",
                BooleanValue(work->fast));

    MobilityHelper mobility;
    Ptr<ListPositionAllocator> places = CreateObject<ListPositionAllocator>();
    places->Add(Vector(0, 0, 0));
    for (uint32_t i = 0; i < work->stations; i++)
    {
        const double angle = 2 * M_PI * i / work->stations;
        places->Add(Vector(std::cos(angle), std::sin(angle), 0));
    }
    mobility.SetPositionAllocator(places);
    mobility.Install(ap);
    mobility.Install(stations);

    InternetStackHelper internet;
    internet.Install(ap);
    internet.Install(stations);
    Ipv4AddressHelper addresses("10.1.0.0", "255.255.0.0");
    Ipv4InterfaceContainer apInterface = addresses.Assign(apDevice);
    Ipv4InterfaceContainer stationInterfaces = addresses.Assign(stationDevices);

    const bool isUplink = work->stations > 1;
    ApplicationContainer sinks;
    if (work->tcp)
    {
        NodeContainer server(1);
        internet.Install(server);
        PointToPointHelper wire;
        wire.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
        wire.SetChannelAttribute("Delay", StringValue("1ms"));
        NetDeviceContainer wireDevices = wire.Install(server.Get(0), ap.Get(0));
        addresses.SetBase("10.2.0.0", "255.255.0.0");
        addresses.Assign(wireDevices);
        Ipv4GlobalRoutingHelper::PopulateRoutingTables();
        const InetSocketAddress to(stationInterfaces.GetAddress(0), PORT);
        PacketSinkHelper sink("ns3::TcpSocketFactory", to);
        sinks = sink.Install(stations.Get(0));
        BulkSendHelper source("ns3::TcpSocketFactory", to);
        source.Install(server.Get(0)).Start(Seconds(TRAFFIC_AT));
        stations.Get(0)->GetObject<Ipv4L3Protocol>()->TraceConnectWithoutContext(
            "LocalDeliver",
            MakeCallback(&Taken));
    }
    else
    {
        const uint32_t flows = work->stations;
        for (uint32_t i = 0; i < flows; i++)
        {
            Ptr<Node> from = isUplink ? stations.Get(i) : ap.Get(0);
            Ptr<Node> to = isUplink ? ap.Get(0) : stations.Get(i);
            const Ipv4Address address =
                isUplink ? apInterface.GetAddress(0) : stationInterfaces.GetAddress(i);
            const uint16_t port = PORT + i;
            PacketSinkHelper sink("ns3::UdpSocketFactory", InetSocketAddress(address, port));
            sinks.Add(sink.Install(to));
            UdpClientHelper source(address, port);
            source.SetAttribute("MaxPackets", UintegerValue(1000000000));
            source.SetAttribute("PacketSize", UintegerValue(1472));
            source.SetAttribute("Interval", TimeValue(Seconds(flows / work->packetsPerSecond)));
            // Not all at once.
            source.Install(from).Start(Seconds(TRAFFIC_AT + 0.01 * i / flows));
        }
        for (uint32_t i = 0; i < sinks.GetN(); i++)
        {
            sinks.Get(i)->TraceConnectWithoutContext("Rx", MakeCallback(&Received));
        }
    }
    // The queue is the MAC's, as in lasthop's workloads.
    TrafficControlHelper control;
    control.Uninstall(stationDevices);
    control.Uninstall(apDevice);

    Simulator::Schedule(Seconds(MEASURED_FROM), &Begin);
    Simulator::Schedule(Seconds(MEASURED_FROM + seconds), &End);
    Simulator::Run();
    Simulator::Destroy();
    return 0;
}
