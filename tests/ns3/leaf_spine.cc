/* SPDX-License-Identifier: Apache-2.0 */
/* leaf_spine.cc: the flows that flows.c lists, once more, in ns-3: its TCP with DCTCP, its RED queues, its point-to-point links. Compiled by
 * compare.py where ns-3 is there. Ours is only what ns-3 leaves to its user: which way a flow takes, so that both simulators hash alike, and the
 * numbers: times in picoseconds, every packet acknowledged, timeouts of at least 2 ms, no Nagle.
 *
 * Reads the list from standard input; prints the time of each flow from its first byte to its last at the receiver, in its order, then a line of
 * counts. What differs between the two is written in docs/SIMULATOR.md, "Against ns-3".
 *
 * A mark in ns-3: RED without an average and with one threshold marks what finds at least so many bytes in the queue. Behind that queue is
 * a device with a place for one packet, and the packet that it sends; so the same bytes wait when the queue has one packet less. */
#include <sys/resource.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace
{

constexpr uint32_t PPP = 2; /* bytes that the device adds */
constexpr uint16_t FIRST_PORT = 1024;

struct Network {
    uint32_t leaves, spines, hosts, packet, marks, buffer;
    uint64_t rate_bps, delay_ps;
};

struct Flow {
    uint32_t from, to, there, back; /* there, back: its spines */
    uint64_t bytes, start_ps;
    uint64_t sent, come, end_ps;
    Ptr<Socket> sender, listener;
};

Network network;
std::vector<Flow> flows;
uint64_t hops;
uint64_t left_over; /* flows that have not ended */
Time lead;          /* connections are opened so long before their first byte */

Ipv4Address address_of(uint32_t host)
{
    return Ipv4Address(0x0a000001 + host * 4);
}

uint32_t host_of(Ipv4Address address)
{
    return (address.Get() - 0x0a000000) / 4;
}

/* Arithmetic: a switch sends down to the host or leaf, and up to the spine of the flow. Device 0 is the loopback. */
class Routes : public Ipv4RoutingProtocol
{
  public:
    uint32_t node = 0;

    Ptr<Ipv4Route> RouteOutput(Ptr<Packet>, const Ipv4Header &header, Ptr<NetDevice>,
                               Socket::SocketErrno &error) override
    {
        error = Socket::ERROR_NOTERROR;
        Ptr<Ipv4Route> route = make(1, header.GetDestination());
        route->SetSource(address_of(node));
        return route;
    }

    bool RouteInput(Ptr<const Packet> packet, const Ipv4Header &header, Ptr<const NetDevice>,
                    UnicastForwardCallback forward, MulticastForwardCallback, LocalDeliverCallback deliver,
                    ErrorCallback) override
    {
        uint32_t all = network.leaves * network.hosts;
        uint32_t to = host_of(header.GetDestination());
        uint32_t leaf = to / network.hosts;

        if (node < all) {
            deliver(packet, header, 1);
        } else if (node >= all + network.leaves) {
            forward(make(1 + leaf, header.GetDestination()), packet, header);
        } else if (node - all == leaf) {
            forward(make(1 + to % network.hosts, header.GetDestination()), packet, header);
        } else {
            forward(make(1 + network.hosts + spine_of(packet), header.GetDestination()), packet, header);
        }
        return true;
    }

    void SetIpv4(Ptr<Ipv4> ipv4) override
    {
        m_ipv4 = ipv4;
    }

    void NotifyInterfaceUp(uint32_t) override
    {
    }
    void NotifyInterfaceDown(uint32_t) override
    {
    }
    void NotifyAddAddress(uint32_t, Ipv4InterfaceAddress) override
    {
    }
    void NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress) override
    {
    }
    void PrintRoutingTable(Ptr<OutputStreamWrapper>, Time::Unit) const override
    {
    }

  private:
    /* The receiver's port is the flow's; the sender's is not. */
    static uint32_t spine_of(Ptr<const Packet> packet)
    {
        TcpHeader tcp;

        packet->PeekHeader(tcp);
        uint32_t there = tcp.GetDestinationPort() - FIRST_PORT;
        return there < flows.size() ? flows[there].there : flows[tcp.GetSourcePort() - FIRST_PORT].back;
    }

    Ptr<Ipv4Route> make(uint32_t device, Ipv4Address to) const
    {
        Ptr<Ipv4Route> route = Create<Ipv4Route>();

        route->SetDestination(to);
        route->SetGateway(to);
        route->SetOutputDevice(m_ipv4->GetNetDevice(device));
        return route;
    }

    Ptr<Ipv4> m_ipv4;
};

/* ---- traffic ---- */

void send_more(uint32_t number, Ptr<Socket> socket)
{
    Flow &flow = flows[number];

    while (flow.sent < flow.bytes) {
        uint64_t room = socket->GetTxAvailable();
        uint64_t piece = std::min<uint64_t>({room, flow.bytes - flow.sent, 64 * 1024});
        if (piece == 0 || socket->Send(Create<Packet>(piece)) < 0) {
            return;
        }
        flow.sent += piece;
    }
}

void begin(uint32_t number)
{
    Ptr<Socket> socket = flows[number].sender;

    socket->SetSendCallback([number](Ptr<Socket> s, uint32_t) { send_more(number, s); });
    send_more(number, socket);
}

void receive(uint32_t number, Ptr<Socket> socket)
{
    Flow &flow = flows[number];

    while (Ptr<Packet> packet = socket->Recv()) {
        flow.come += packet->GetSize();
    }
    if (flow.come == flow.bytes && flow.end_ps == 0) {
        flow.end_ps = Simulator::Now().GetPicoSeconds();
        if (--left_over == 0) {
            Simulator::Stop();
        }
    }
}

void open(uint32_t number, Ptr<Node> from)
{
    Flow &flow = flows[number];

    flow.sender = Socket::CreateSocket(from, TcpSocketFactory::GetTypeId());
    DynamicCast<TcpSocketBase>(flow.sender)->SetAttribute("TcpNoDelay", BooleanValue(true));
    flow.sender->Bind();
    flow.sender->Connect(InetSocketAddress(address_of(flow.to), FIRST_PORT + number));
}

void plan(uint32_t number, const NodeContainer &nodes)
{
    Flow &flow = flows[number];
    Time at = PicoSeconds(flow.start_ps);

    flow.listener = Socket::CreateSocket(nodes.Get(flow.to), TcpSocketFactory::GetTypeId());
    flow.listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), FIRST_PORT + number));
    flow.listener->Listen();
    flow.listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address &>(),
                                     [number](Ptr<Socket> socket, const Address &) {
                                         socket->SetRecvCallback([number](Ptr<Socket> s) { receive(number, s); });
                                     });
    Simulator::Schedule(at, [number, &nodes] { open(number, nodes.Get(flows[number].from)); });
    Simulator::Schedule(at + lead, [number] { begin(number); });
}

/* ---- network ---- */

void defaults()
{
    uint32_t payload = network.packet - PPP - 40; /* IPv4 and TCP without options */

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpDctcp"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(payload));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(256 * payload));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1024 * payload));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(2)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(NanoSeconds(1)));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::RedQueueDisc::UseEcn", BooleanValue(true));
    Config::SetDefault("ns3::RedQueueDisc::UseHardDrop", BooleanValue(false));
    Config::SetDefault("ns3::RedQueueDisc::QW", DoubleValue(1));
    Config::SetDefault("ns3::RedQueueDisc::MaxSize", QueueSizeValue(QueueSize(BYTES, network.buffer * network.packet)));
}

struct Wires {
    PointToPointHelper link;
    TrafficControlHelper queue;
    std::vector<Ptr<QueueDisc>> queues;

    void join(Ptr<Node> below, Ptr<Node> above, bool is_host)
    {
        NetDeviceContainer devices = link.Install(below, above);
        for (uint32_t i = 0; i < 2; i++) {
            devices.Get(i)->TraceConnectWithoutContext(
                "PhyTxEnd", Callback<void, Ptr<const Packet>>([](Ptr<const Packet>) { hops++; }));
            if (i == 0 && is_host) { /* hosts neither mark nor drop */
                PointerValue own;
                devices.Get(0)->GetAttribute("TxQueue", own);
                own.Get<Queue<Packet>>()->SetMaxSize(QueueSize("1000000p"));
            } else {
                queues.push_back(queue.Install(devices.Get(i)).Get(0));
            }
            Ptr<Ipv4> ipv4 = devices.Get(i)->GetNode()->GetObject<Ipv4>();
            uint32_t device = ipv4->AddInterface(devices.Get(i));
            Ipv4Address address = i == 0 && is_host ? address_of(below->GetId()) : Ipv4Address(0xac100001);
            ipv4->AddAddress(device, Ipv4InterfaceAddress(address, Ipv4Mask("/32")));
            ipv4->SetUp(device);
        }
    }
};

void build(NodeContainer &nodes, Wires &wires)
{
    uint32_t all = network.leaves * network.hosts;
    double threshold = (network.marks - 1.0) * (network.packet - PPP);
    InternetStackHelper stack;

    nodes.Create(all + network.leaves + network.spines);
    stack.SetIpv6StackInstall(false);
    stack.Install(nodes);
    wires.link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(network.rate_bps)));
    wires.link.SetChannelAttribute("Delay", TimeValue(PicoSeconds(network.delay_ps)));
    wires.link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
    wires.queue.SetRootQueueDisc("ns3::RedQueueDisc", "LinkBandwidth", DataRateValue(DataRate(network.rate_bps)),
                                 "MinTh", DoubleValue(threshold), "MaxTh", DoubleValue(threshold));
    for (uint32_t i = 0; i < nodes.GetN(); i++) {
        Ptr<Routes> routes = CreateObject<Routes>();
        routes->node = i;
        nodes.Get(i)->GetObject<Ipv4>()->SetRoutingProtocol(routes);
    }
    for (uint32_t host = 0; host < all; host++) {
        wires.join(nodes.Get(host), nodes.Get(all + host / network.hosts), true);
    }
    for (uint32_t leaf = 0; leaf < network.leaves; leaf++) {
        for (uint32_t spine = 0; spine < network.spines; spine++) {
            wires.join(nodes.Get(all + leaf), nodes.Get(all + network.leaves + spine), false);
        }
    }
}

/* ---- the list ---- */

bool read_list()
{
    uint64_t count = 0;

    if (scanf("%u %u %u %u %u %u %" SCNu64 " %" SCNu64 " %" SCNu64, &network.leaves, &network.spines, &network.hosts,
              &network.packet, &network.marks, &network.buffer, &network.rate_bps, &network.delay_ps, &count) != 9) {
        return false;
    }
    for (uint64_t i = 0; i < count; i++) {
        Flow flow = {};
        if (scanf("%u %u %u %u %" SCNu64 " %" SCNu64 " %*u %*u", &flow.from, &flow.to, &flow.there, &flow.back,
                  &flow.bytes, &flow.start_ps) != 6) {
            return false;
        }
        flows.push_back(flow);
    }
    left_over = count;
    return count != 0 && count < 65536 - FIRST_PORT;
}

double cpu_s()
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

} // namespace

int main(int argc, char **argv)
{
    uint64_t dropped = 0;
    uint64_t marked = 0;
    NodeContainer nodes;
    Wires wires;

    if (!read_list()) {
        fprintf(stderr, "leaf_spine: no list of flows on standard input\n");
        return 2;
    }
    Time::SetResolution(Time::PS);
    lead = MilliSeconds(argc > 1 ? 0 : 1);
    defaults();
    build(nodes, wires);
    for (uint32_t i = 0; i < flows.size(); i++) {
        plan(i, nodes);
    }
    if (argc > 1) { /* microseconds: flows that do not end */
        Simulator::Stop(MicroSeconds(strtoul(argv[1], nullptr, 10)));
    }
    double start_s = cpu_s();
    Simulator::Run();
    double end_s = cpu_s();
    uint64_t bytes = 0;
    for (const Flow &flow : flows) {
        printf("%" PRIu64 "\n", flow.end_ps == 0 ? 0 : flow.end_ps - flow.start_ps - lead.GetPicoSeconds());
        bytes += flow.come;
    }
    for (const Ptr<QueueDisc> &queue : wires.queues) {
        dropped += queue->GetStats().nTotalDroppedPackets;
        marked += queue->GetStats().nTotalMarkedPackets;
    }
    printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %.4f %.4f %" PRIu64 "\n", hops, marked, dropped, end_s - start_s,
           start_s, bytes);
    return 0;
}
