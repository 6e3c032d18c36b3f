/* SPDX-License-Identifier: Apache-2.0 */
/* panama_accelerator.c: PANAMA's accelerator by the paper's formulas: Table 1, and appendix A with Table 2 and Fig. 11
 * to 14. Read next: panama.h. */
#include <math.h>
#include <stddef.h>

#include "reproduce/panama.h"

#define MHZ 1e6
#define GBPS 1e9
#define NS 1e-9

/* The prototype: section 6. */
#define PROTOTYPE_BUS 64.0
#define PROTOTYPE_CLOCK (200 * MHZ)
#define PROTOTYPE_PORTS 4.0
#define FPGA_ADDER (10 * NS)
/* Appendix A. */
#define WIDE_BUS 512.0
#define ASIC_CLOCK (1000 * MHZ)
#define ASIC_ADDER (6 * NS)
#define ADDER_MM2_180 0.936860

/* Devices, from AMD's selection guides: UltraScale+ VU19P, and the Virtex-7 690T of the NetFPGA-SUME. */
#define VU19P_LUTS 4085760.0
#define VU19P_FLIP_FLOPS 8171520.0
/* Stillmaker and Baas, table of areas: 180 nm is 320 times 7 nm. */
#define AREA_180_TO_7 320.0

/* Table 2: a parser and a buffer for each port, adders, one control. */
#define PARSER_LUTS 188.0
#define BUFFER_LUTS 127.0
#define ADDER_LUTS 352.0
#define CONTROL_LUTS 1089.0
#define PARSER_FLIP_FLOPS 118.0
#define BUFFER_FLIP_FLOPS 118.0
#define ADDER_FLIP_FLOPS 72.0
#define CONTROL_FLIP_FLOPS 963.0

static const double port_counts[] = {4, 8, 16, 32, 64, 128};
static const double packet_sizes[] = {64, 128, 256, 512, 1024, 1500};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

double panama_rate(double bus_bits, double clock_hz)
{
    return bus_bits * clock_hz;
}

double panama_adders(double bus_bits, double ports)
{
    return bus_bits * (ports - 1) / 32;
}

double panama_luts(double bus_bits, double ports)
{
    return ports * (PARSER_LUTS + BUFFER_LUTS) + panama_adders(bus_bits, ports) * ADDER_LUTS + CONTROL_LUTS;
}

double panama_flip_flops(double bus_bits, double ports)
{
    return ports * (PARSER_FLIP_FLOPS + BUFFER_FLIP_FLOPS) + panama_adders(bus_bits, ports) * ADDER_FLIP_FLOPS +
           CONTROL_FLIP_FLOPS;
}

double panama_latency(double packet_bytes, double bus_bits, double clock_hz, double adder_s, double ports)
{
    return (packet_bytes * 8 / bus_bits - 1) / clock_hz + adder_s * log2(ports);
}

double panama_bus_for(double rate_bps, double clock_hz)
{
    double bits = 32;

    while (panama_rate(bits, clock_hz) < rate_bps) {
        bits *= 2;
    }
    return bits;
}

bool panama_eq(struct reproduce_run *run)
{
    reproduce_panel(run, "(1) Rate of a port", "bits of the bus", "Gbps")->is_log = true;
    for (double bits = 64; bits <= 1024; bits *= 2) {
        reproduce_point(run, "200 MHz", bits, panama_rate(bits, PROTOTYPE_CLOCK) / GBPS);
        reproduce_point(run, "1 GHz", bits, panama_rate(bits, ASIC_CLOCK) / GBPS);
    }
    reproduce_panel(run, "(2) Adders", "ports", "adders")->is_log = true;
    for (uint32_t i = 0; i < COUNT(port_counts); i++) {
        reproduce_point(run, "bus of 64 bits", port_counts[i], panama_adders(PROTOTYPE_BUS, port_counts[i]));
        reproduce_point(run, "bus of 512 bits", port_counts[i], panama_adders(WIDE_BUS, port_counts[i]));
    }
    reproduce_panel(run, "(3) Cut-through latency of the prototype", "bytes", "ns")->is_log = true;
    for (uint32_t i = 0; i < COUNT(packet_sizes); i++) {
        reproduce_point(run, "4 ports", packet_sizes[i],
                        panama_latency(packet_sizes[i], PROTOTYPE_BUS, PROTOTYPE_CLOCK, FPGA_ADDER, PROTOTYPE_PORTS) /
                            NS);
    }
    reproduce_got(run, "prototype-rate", panama_rate(PROTOTYPE_BUS, PROTOTYPE_CLOCK) / GBPS);
    reproduce_got(run, "adder-trees", PROTOTYPE_BUS / 32);
    reproduce_got(run, "prototype-adders", panama_adders(PROTOTYPE_BUS, PROTOTYPE_PORTS));
    reproduce_got(run, "adders-per-parser", panama_adders(WIDE_BUS, 128) / 128);
    return true;
}

/* Returns the formula's time without adders: a packet's time through the bus. */
static double passing(double packet_bytes)
{
    return panama_latency(packet_bytes, PROTOTYPE_BUS, PROTOTYPE_CLOCK, FPGA_ADDER, 1) / NS;
}

static double aggregating(double packet_bytes)
{
    return panama_latency(packet_bytes, PROTOTYPE_BUS, PROTOTYPE_CLOCK, FPGA_ADDER, PROTOTYPE_PORTS) / NS;
}

bool panama_table1(struct reproduce_run *run)
{
    static const struct {
        double bytes;
        double passing_ns;
        double aggregating_ns;
    } printed[] = {{512, 340, 370}, {1024, 665, 695}, {1500, 957.5, 987.5}};

    (void)reproduce_panel(run, "Cut-through latency", "bytes", "ns");
    for (uint32_t i = 0; i < COUNT(printed); i++) {
        reproduce_point(run, "paper, aggregation", printed[i].bytes, printed[i].aggregating_ns);
        reproduce_point(run, "paper, other packets", printed[i].bytes, printed[i].passing_ns);
        reproduce_point(run, "equation (3)", printed[i].bytes, aggregating(printed[i].bytes));
        reproduce_point(run, "equation (3) without adders", printed[i].bytes, passing(printed[i].bytes));
    }
    reproduce_got(run, "512", aggregating(512));
    reproduce_got(run, "1024", aggregating(1024));
    reproduce_got(run, "1500", aggregating(1500));
    reproduce_got(run, "512-other", passing(512));
    reproduce_got(run, "1024-other", passing(1024));
    reproduce_got(run, "1500-other", passing(1500));
    reproduce_got(run, "adding", aggregating(512) - passing(512));
    return true;
}

bool panama_table2(struct reproduce_run *run)
{
    double luts = panama_luts(PROTOTYPE_BUS, PROTOTYPE_PORTS);
    double flip_flops = panama_flip_flops(PROTOTYPE_BUS, PROTOTYPE_PORTS);

    static const char *const parts[] = {"parsers", "buffers", "adders", "control"};
    struct report_plot *panel = reproduce_panel(run, "Logic of the prototype, 4 ports", "", "cells");
    panel->ticks = parts;
    panel->tick_count = COUNT(parts);
    double adders = panama_adders(PROTOTYPE_BUS, PROTOTYPE_PORTS);
    const double lut_parts[] = {PROTOTYPE_PORTS * PARSER_LUTS, PROTOTYPE_PORTS * BUFFER_LUTS, adders * ADDER_LUTS,
                                CONTROL_LUTS};
    const double flip_flop_parts[] = {PROTOTYPE_PORTS * PARSER_FLIP_FLOPS, PROTOTYPE_PORTS * BUFFER_FLIP_FLOPS,
                                      adders * ADDER_FLIP_FLOPS, CONTROL_FLIP_FLOPS};
    for (uint32_t i = 0; i < COUNT(parts); i++) {
        reproduce_point(run, "LUTs", i, lut_parts[i]);
        reproduce_point(run, "flip-flops", i, flip_flop_parts[i]);
    }
    reproduce_got(run, "luts", luts);
    reproduce_got(run, "flip-flops", flip_flops);
    reproduce_got(run, "luts-share", luts / VU19P_LUTS * 100);
    reproduce_got(run, "flip-flops-share", flip_flops / VU19P_FLIP_FLOPS * 100);
    return true;
}

bool panama_fig11(struct reproduce_run *run)
{
    (void)reproduce_panel(run, "Rate of a port", "bits of the bus", "Gbps");
    for (double bits = 64; bits <= WIDE_BUS; bits += 64) {
        reproduce_point(run, "FPGA, 200 MHz", bits, panama_rate(bits, PROTOTYPE_CLOCK) / GBPS);
        reproduce_point(run, "ASIC, 1 GHz", bits, panama_rate(bits, ASIC_CLOCK) / GBPS);
    }
    reproduce_got(run, "bus-for-100", panama_bus_for(100 * GBPS, PROTOTYPE_CLOCK));
    reproduce_got(run, "asic-rate", panama_rate(WIDE_BUS, ASIC_CLOCK) / GBPS);
    return true;
}

/* Returns the most ports for which the FPGA has LUTs and flip-flops. */
static double ports_that_fit(void)
{
    double ports = 2;

    while (panama_luts(WIDE_BUS, ports + 1) <= VU19P_LUTS &&
           panama_flip_flops(WIDE_BUS, ports + 1) <= VU19P_FLIP_FLOPS) {
        ports++;
    }
    return ports;
}

bool panama_fig12(struct reproduce_run *run)
{
    (void)reproduce_panel(run, "Logic of a VU19P, 100 Gbps per port", "ports", "%");
    for (uint32_t i = 0; i < COUNT(port_counts); i++) {
        reproduce_point(run, "LUTs", port_counts[i], panama_luts(WIDE_BUS, port_counts[i]) / VU19P_LUTS * 100);
        reproduce_point(run, "flip-flops", port_counts[i],
                        panama_flip_flops(WIDE_BUS, port_counts[i]) / VU19P_FLIP_FLOPS * 100);
    }
    reproduce_got(run, "luts", panama_luts(WIDE_BUS, 128) / VU19P_LUTS * 100);
    reproduce_got(run, "flip-flops", panama_flip_flops(WIDE_BUS, 128) / VU19P_FLIP_FLOPS * 100);
    reproduce_got(run, "ports", ports_that_fit());
    return true;
}

bool panama_fig13(struct reproduce_run *run)
{
    (void)reproduce_panel(run, "Area of adders at 7 nm, 400 Gbps per port", "ports", "mm2");
    for (uint32_t i = 0; i < COUNT(port_counts); i++) {
        reproduce_point(run, "by the published factor", port_counts[i],
                        panama_adders(WIDE_BUS, port_counts[i]) * ADDER_MM2_180 / AREA_180_TO_7);
        reproduce_point(run, "by the square of 180/7", port_counts[i],
                        panama_adders(WIDE_BUS, port_counts[i]) * ADDER_MM2_180 * 7 * 7 / (180.0 * 180));
    }
    reproduce_got(run, "area", panama_adders(WIDE_BUS, 128) * ADDER_MM2_180 / AREA_180_TO_7);
    return true;
}

/* ---- Fig. 14 ---- */

struct part {
    const char *name;
    double clock_hz;
    double adder_s;
    double rates_gbps[2]; /* of 100 Gbps and more */
    uint32_t count;
};

static double latency_of(const struct part *part, double rate_gbps, double packet_bytes, double ports)
{
    double bus = panama_bus_for(rate_gbps * GBPS, part->clock_hz);

    return panama_latency(packet_bytes, bus, part->clock_hz, part->adder_s, ports) / NS;
}

bool panama_fig14(struct reproduce_run *run)
{
    static const struct part parts[] = {
        {"FPGA 100 Gbps", PROTOTYPE_CLOCK, FPGA_ADDER, {100, 0}, 1},
        {"ASIC", ASIC_CLOCK, ASIC_ADDER, {100, 400}, 2},
    };
    static const char *const names[2][2] = {{"FPGA, 100 Gbps", ""}, {"ASIC, 100 Gbps", "ASIC, 400 Gbps"}};
    double most[2] = {0, 0};

    for (uint32_t is_by_ports = 0; is_by_ports < 2; is_by_ports++) {
        (void)(is_by_ports ? reproduce_panel(run, "Cut-through latency, packets of 1,500 bytes", "ports", "ns")
                           : reproduce_panel(run, "Cut-through latency, 64 ports", "bytes", "ns"));
        for (uint32_t p = 0; p < 2; p++) {
            for (uint32_t r = 0; r < parts[p].count; r++) {
                for (uint32_t i = 0; i < COUNT(port_counts); i++) {
                    double bytes = is_by_ports ? 1500 : packet_sizes[i];
                    double ports = is_by_ports ? port_counts[i] : 64;
                    double ns = latency_of(&parts[p], parts[p].rates_gbps[r], bytes, ports);
                    reproduce_point(run, names[p][r], is_by_ports ? ports : bytes, ns);
                    most[p] = fmax(most[p], ns);
                }
            }
        }
    }
    reproduce_got(run, "fpga-most", most[0]);
    reproduce_got(run, "asic-most", most[1]);
    return true;
}
