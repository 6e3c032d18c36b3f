/* SPDX-License-Identifier: Apache-2.0 */
/* demo_html.c: demo.html: one file, no script, nothing fetched. Pictures: demo_svg.c. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "demo.h"

#define MEGA 1e-6

static const char head[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>Tributary: first "
    "light</title>\n<style>\n"
    ":root{color-scheme:light dark;--bg:#f6f5f1;--card:#fff;--ink:#1b2430;--soft:#5f6b7a;--line:#dfe1e4;--up:#0b7f8a;"
    "--down:#c4611a;--clean:#a9d6da;--single:#6b4fc4;--grey:#aab2bc;--good:#1c7c4a;--bad:#b3261e;--switch:#10343c;"
    "--onswitch:#f2fbfb}\n"
    "@media(prefers-color-scheme:dark){:root{--bg:#0f1418;--card:#171e24;--ink:#e7ebef;--soft:#97a3b0;--line:#2b353e;"
    "--up:#3fbcc6;--down:#f0924a;--clean:#28626a;--single:#a894f2;--grey:#596470;--good:#5cc98d;--bad:#ff7b72;"
    "--switch:#1d4a53;--onswitch:#eafafa}}\n"
    "*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--ink);"
    "font:16px/1.5 system-ui,-apple-system,\"Segoe UI\",sans-serif}\n"
    "main{max-width:1060px;margin:0 auto;padding:44px 24px 64px}h1{font-size:34px;line-height:1.15;margin:0 0 10px;"
    "letter-spacing:-.02em}h2{font-size:19px;margin:0 0 4px}p{margin:0 0 14px;color:var(--soft)}p.lead{font-size:18px;"
    "max-width:60em}\n"
    "section{background:var(--card);border:1px solid var(--line);border-radius:14px;padding:22px "
    "24px;margin-top:20px}\n"
    "svg{display:block;width:100%;height:auto;font:14px system-ui,sans-serif}.two{display:grid;"
    "grid-template-columns:1fr 1fr;column-gap:20px}.two "
    "section{margin-top:20px}.column{display:flex;flex-direction:column}.column "
    "section:last-child{flex:1}@media(max-width:820px){.two{grid-template-columns:1fr}}\n"
    ".facts{display:grid;grid-template-columns:repeat(4,1fr);gap:14px;margin-top:26px}.fact{border-top:3px solid "
    "var(--up);"
    "padding-top:8px}.fact b{display:block;font-size:27px;letter-spacing:-.02em}.fact "
    "span{color:var(--soft);font-size:14px}"
    "@media(max-width:820px){.facts{grid-template-columns:1fr 1fr}}\n"
    ".up,.down{fill:none;stroke-width:5;stroke-linecap:round}.up{stroke:var(--up);marker-end:url(#mu)}"
    ".down{stroke:var(--down);marker-end:url(#md)}.upt{fill:var(--up);font-weight:600}.downt{fill:var(--down);font-"
    "weight:600}\n"
    ".box{fill:var(--bg);stroke:var(--line);stroke-width:1.5}.switch{fill:var(--switch)}.name{fill:var(--ink);font-"
    "weight:650;"
    "font-size:17px;text-anchor:middle}.small{fill:var(--soft);font-size:13px;text-anchor:middle}"
    ".onswitch{fill:var(--onswitch)}\n"
    ".label{fill:var(--ink)}.value{fill:var(--soft);font-size:12.5px}.sent.measured{fill:var(--up)}"
    ".received.measured{fill:var(--down)}.computed{fill:var(--grey)}.received.computed{opacity:.62}\n"
    ".grid{stroke:var(--line);stroke-width:1}.tick{fill:var(--soft);font-size:12px}.curve{fill:none;stroke-linejoin:"
    "round}"
    ".curve.clean{stroke:var(--clean);stroke-width:9;stroke-linecap:round}.curve.faulty{stroke:var(--down);stroke-"
    "width:2.2}"
    ".single{fill:none;stroke:var(--single);stroke-width:1.6}.kill{stroke:var(--bad);stroke-width:1.5;stroke-dasharray:"
    "4 4}"
    ".killt{fill:var(--bad);font-size:12px}\n"
    ".key{display:flex;gap:20px;flex-wrap:wrap;color:var(--soft);font-size:14px;margin:0 0 8px}.key "
    "i{display:inline-block;"
    "width:22px;height:9px;border-radius:5px;margin-right:7px;vertical-align:1px}.key "
    "i.thin{height:3px;vertical-align:4px}"
    ".key i.ring{width:9px;border:2px solid var(--single)}\n"
    "table{font-size:15px;border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}td,th{padding:6px 0 "
    "6px 10px;"
    "border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}"
    "td:first-child,th:first-child{text-align:left;padding-left:0;white-space:normal}"
    "th{color:var(--soft);font-weight:500;font-size:14px}tr:last-child td{border-bottom:0}\n"
    "code{font:14px ui-monospace,Menlo,Consolas,monospace}ul.checks{list-style:none;margin:10px 0 0;padding:0}"
    ".checks li{padding:5px 0 5px 30px;position:relative}.checks "
    "li:before{content:\"\\2713\";position:absolute;left:4px;"
    "color:var(--good);font-weight:700}.checks li.bad{color:var(--bad)}.checks li.bad:before{content:\"\\2717\";"
    "color:var(--bad)}\n"
    "footer{margin-top:26px;color:var(--soft);font-size:14px}\n</style></head><body><main>\n";

/* 1234567 as 1,234,567, in one of a few buffers used in turn. */
static const char *grouped(uint64_t number)
{
    static char texts[4][32];
    static unsigned turn;
    char *at = texts[turn++ % 4] + sizeof(texts[0]) - 1;
    *at = '\0';
    for (unsigned digits = 0; digits == 0 || number != 0; digits++, number /= 10) {
        if (digits != 0 && digits % 3 == 0) {
            *--at = ',';
        }
        *--at = (char)('0' + number % 10);
    }
    return at;
}

static void write_facts(FILE *out, const struct demo *demo)
{
    const struct demo_run *faults = &demo->faults;
    fprintf(
        out,
        "<h1>Real digits, summed by a software switch</h1>\n"
        "<p class=\"lead\">Four workers trained a 64-1024-512-10 network (%s parameters) on 1,500 handwritten digits, "
        "twice: "
        "on a clean network, and with 1 %% of the packets lost, 1 %% doubled, 1 %% reordered at every receiver and the "
        "switch killed half way. %s</p>\n",
        grouped(NET_PARAMETERS),
        demo->check[0].holds ? "Both times, on all workers, the final weights came out the same, bit by bit."
                             : "The final weights DIFFER between workers or runs: see the table of hashes.");
    fprintf(
        out,
        "<div class=\"facts\"><div class=\"fact\"><b>%.1f %%</b><span>test accuracy, %d digits never trained "
        "on</span></div>\n"
        "<div class=\"fact\"><b>%.2f &times;</b><span>of the gradient is what a worker sent, headers included; a ring "
        "sends "
        "%.2f &times;</span></div>\n"
        "<div class=\"fact\"><b>%.0f MB/s</b><span>goodput of each worker, clean; %.0f MB/s with faults</span></div>\n"
        "<div class=\"fact\"><b>%s</b><span>packets lost on purpose by workers; the switch was gone for %.2f "
        "s</span></div></div>\n",
        100.0 * faults->epoch[faults->epochs - 1].accuracy, DIGITS_TEST,
        (double)DEMO_SUM(&demo->clean, bytes_sent) / DEMO_WORKERS / demo_gradient_bytes(&demo->clean),
        demo_ring_factor(), MEGA * demo_goodput(&demo->clean), MEGA * demo_goodput(faults),
        grouped(DEMO_SUM(faults, injected_loss)), faults->outage_seconds);
}

static void write_checks(FILE *out, const struct demo *demo)
{
    fputs("<section><h2>What was checked</h2><ul class=\"checks\">\n", out);
    for (size_t i = 0; i < demo->checks; i++) {
        fprintf(out, "<li%s>%s</li>\n", demo->check[i].holds ? "" : " class=\"bad\"", demo->check[i].text);
    }
    fputs("</ul></section>\n", out);
}

static void write_traffic(FILE *out, const struct demo *demo)
{
    fputs("<section><h2>Where the bytes went</h2><p>The clean run, all of it: UDP payload that each worker counted, "
          "our 64-byte "
          "headers included.</p>\n",
          out);
    demo_svg_topology(out, demo);
    fprintf(out,
            "</section>\n<section><h2>Bytes for one training step</h2><p>The gradient is %.2f MB. Coloured: measured, "
            "headers and "
            "resends included. Grey: computed from the formulas (ring 2(N&minus;1)/N, parameter server 1 for a worker "
            "and N for the "
            "server), gradient alone. A switch box has a port for every worker; a server has one link for all.</p>\n",
            MEGA * sizeof(float) * NET_PARAMETERS);
    demo_svg_bars(out, demo);
    fputs("</section>\n", out);
}

static void write_curves(FILE *out, const struct demo *demo)
{
    static const char key[] =
        "<div class=\"key\"><span><i style=\"background:var(--clean)\"></i>clean</span><span><i class=\"thin\" "
        "style=\"background:var(--down)\"></i>with faults</span><span><i class=\"ring\"></i>single "
        "process</span></div>\n";
    fprintf(out, "<div class=\"two\"><section><h2>Training loss</h2>%s", key);
    demo_svg_loss(out, demo);
    fprintf(out, "</section><section><h2>Test accuracy</h2>%s", key);
    demo_svg_accuracy(out, demo);
    fputs("</section></div>\n", out);
}

static void write_counts(FILE *out, const struct demo *demo)
{
    fputs("<section><h2>Faults and recoveries</h2><p>Counted by the four workers together, on what they received. The "
          "switch lost, doubled and reordered as well; what that cost shows in the asks and in the contributions sent "
          "again.</p><table><tr><th></th><th>clean</th>"
          "<th>with faults</th></tr>\n",
          out);
    for (size_t i = 0; i < demo_counts_count; i++) {
        fprintf(out, "<tr><td>%s</td><td>%s</td><td>%s</td></tr>\n", demo_counts[i].name,
                grouped(demo_sum(&demo->clean, demo_counts[i].offset)),
                grouped(demo_sum(&demo->faults, demo_counts[i].offset)));
    }
    fprintf(out, "<tr><td>the whole training</td><td>%.1f s</td><td>%.1f s</td></tr></table></section>\n",
            demo->clean.seconds, demo->faults.seconds);
}

static void write_hashes(FILE *out, const struct demo *demo)
{
    fputs("<section><h2>Hash of the final weights</h2><p>FNV-1a over all 2.4 MB, computed by each worker.</p><table>"
          "<tr><th></th><th>clean</th><th>with faults</th></tr>\n",
          out);
    for (uint32_t i = 0; i < DEMO_WORKERS; i++) {
        fprintf(out,
                "<tr><td>worker %u</td><td><code>%016" PRIx64 "</code></td><td><code>%016" PRIx64 "</code></td></tr>\n",
                i, demo->clean.rank[i].hash, demo->faults.rank[i].hash);
    }
    fprintf(out,
            "</table><p style=\"margin:14px 0 0\">The single process adds in another order, so its bits differ: no "
            "weight by more "
            "than %.1e (bound %.0e).</p></section>\n",
            demo->difference, DEMO_DIFFERENCE_MAX);
}

bool demo_write_html(const struct demo *demo)
{
    FILE *out = fopen(demo->html, "w");
    if (out == NULL) {
        fprintf(stderr, "digits-demo: cannot write %s: %s\n", demo->html, strerror(errno));
        return false;
    }
    fputs(head, out);
    write_facts(out, demo);
    write_traffic(out, demo);
    write_curves(out, demo);
    fputs("<div class=\"two\">", out);
    write_counts(out, demo);
    fputs("<div class=\"column\">", out);
    write_hashes(out, demo);
    write_checks(out, demo);
    fputs("</div></div>\n", out);
    fprintf(out,
            "<footer>Written by <code>make demo</code> in %.0f s; everything ran on one machine over its loopback "
            "device. Digits: "
            "E. Alpaydin, C. Kaynak, Optical Recognition of Handwritten Digits, UCI, doi:10.24432/C50P49, CC BY "
            "4.0.</footer></main></body></html>\n",
            demo->seconds);
    bool good = ferror(out) == 0;
    if (fclose(out) != 0 || !good) {
        fprintf(stderr, "digits-demo: cannot write %s: %s\n", demo->html, strerror(errno));
        return false;
    }
    return true;
}
