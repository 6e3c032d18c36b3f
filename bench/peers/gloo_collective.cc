/* SPDX-License-Identifier: Apache-2.0 */
/* gloo_collective.cc: times Gloo's collectives of float32 over TCP, one process per rank, each where wished in a network namespace.
 * --bytes is the whole tensor: of an allgather what each rank has at the end, of a reduce-scatter what it begins with.
 * In place, which costs Gloo least; the input is written anew before each call, outside the clock; every element of every result
 * is looked at. Prints one JSON object. Not part of Tributary: a peer to measure against. Read next: ../peers.py. */
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/reduce_scatter.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

namespace
{

constexpr int RANKS_MAX = 64;

struct Options {
    int ranks = 4;
    size_t bytes = 1 << 20;
    int iterations = 5;
    int warmups = 1;
    std::string collective = "allreduce";
    std::string algorithm = "ring"; /* of an allreduce; the others have one in Gloo */
    std::vector<std::string> namespaces; /* by rank; none: the present one */
    std::vector<std::string> addresses;  /* by rank; none: 127.0.0.1 */
};

/* What the ranks leave for the parent, in memory that all share. */
struct Shared {
    int64_t cpu_ns[RANKS_MAX];
    int64_t wrong[RANKS_MAX];
    double times_us[]; /* iteration by iteration, each with all ranks */
};

int64_t read_clock(clockid_t clock)
{
    timespec now{};
    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* ---- values: small integers, so that every order of summing gives the same bits ---- */

void fill(std::vector<float> &tensor, int rank)
{
    for (size_t i = 0; i < tensor.size(); i++) {
        tensor[i] = static_cast<float>(static_cast<int>(i % 61) + rank);
    }
}

/* An allgather leaves each rank's share of its input, a reduce-scatter the rank's share of the sum, which Gloo puts at the beginning. */
int64_t count_wrong(const Options &options, const std::vector<float> &tensor, int rank)
{
    int64_t wrong = 0;
    int ranks = options.ranks;
    size_t share = tensor.size() / static_cast<size_t>(ranks);
    bool is_share = options.collective == "reduce-scatter";
    bool is_gather = options.collective == "allgather";
    size_t first = is_share ? share * static_cast<size_t>(rank) : 0;
    for (size_t i = 0; i < (is_share ? share : tensor.size()); i++) {
        int value = static_cast<int>((first + i) % 61);
        int expected = is_gather ? value + static_cast<int>(i / share) : ranks * value + ranks * (ranks - 1) / 2;
        wrong += tensor[i] != static_cast<float>(expected);
    }
    return wrong;
}

/* ---- one rank ---- */

void enter_namespace(const std::string &name)
{
    int file = open(("/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0 || setns(file, CLONE_NEWNET) != 0) {
        throw std::runtime_error("cannot enter network namespace " + name);
    }
    close(file);
}

/* The own share lies where it lies in the whole. */
std::function<void()> make_allgather(const std::shared_ptr<gloo::Context> &context, std::vector<float> &tensor)
{
    auto call = std::make_shared<gloo::AllgatherOptions>(context);
    call->setOutput(tensor.data(), tensor.size());
    return [call] { gloo::allgather(*call); };
}

/* Gloo has no ring for this: halves are exchanged over growing distances, then shares that lie elsewhere go to their owners. */
std::function<void()> make_reduce_scatter(const Options &options, const std::shared_ptr<gloo::Context> &context,
                                          std::vector<float> &tensor)
{
    std::vector<int> shares(static_cast<size_t>(options.ranks), static_cast<int>(tensor.size() / static_cast<size_t>(options.ranks)));
    auto call = std::make_shared<gloo::ReduceScatterHalvingDoubling<float>>(
        context, std::vector<float *>{tensor.data()}, static_cast<int>(tensor.size()), shares);
    return [call] { call->run(); };
}

std::function<void()> make_call(const Options &options, const std::shared_ptr<gloo::Context> &context, std::vector<float> &tensor)
{
    if (options.collective == "allgather") {
        return make_allgather(context, tensor);
    }
    if (options.collective == "reduce-scatter") {
        return make_reduce_scatter(options, context, tensor);
    }
    if (options.collective != "allreduce") {
        throw std::runtime_error("--collective is one of allreduce allgather reduce-scatter");
    }
    if (options.algorithm == "ring_chunked") {
        auto call = std::make_shared<gloo::AllreduceRingChunked<float>>(context, std::vector<float *>{tensor.data()},
                                                                         static_cast<int>(tensor.size()));
        return [call] { call->run(); };
    }
    if (options.algorithm == "halving_doubling") {
        auto call = std::make_shared<gloo::AllreduceHalvingDoubling<float>>(context, std::vector<float *>{tensor.data()},
                                                                             static_cast<int>(tensor.size()));
        return [call] { call->run(); };
    }
    if (options.algorithm != "ring" && options.algorithm != "bcube") {
        throw std::runtime_error("--algorithm is one of ring bcube ring_chunked halving_doubling");
    }
    auto call = std::make_shared<gloo::AllreduceOptions>(context);
    call->setAlgorithm(options.algorithm == "ring" ? gloo::AllreduceOptions::Algorithm::RING
                                                   : gloo::AllreduceOptions::Algorithm::BCUBE);
    call->setOutput(tensor.data(), tensor.size());
    call->setReduceFunction(static_cast<void (*)(void *, const void *, const void *, size_t)>(&gloo::sum<float>));
    return [call] { gloo::allreduce(*call); };
}

void run_rank(const Options &options, int rank, const std::string &store_path, Shared *shared)
{
    gloo::transport::tcp::attr attributes;
    attributes.hostname = options.addresses.empty() ? "127.0.0.1" : options.addresses.at(static_cast<size_t>(rank));
    if (!options.namespaces.empty()) {
        enter_namespace(options.namespaces.at(static_cast<size_t>(rank)));
    }
    auto device = gloo::transport::tcp::CreateDevice(attributes);
    auto store = gloo::rendezvous::FileStore(store_path);
    auto context = std::make_shared<gloo::rendezvous::Context>(rank, options.ranks);
    context->connectFullMesh(store, device);
    std::vector<float> tensor(options.bytes / sizeof(float));
    auto call = make_call(options, context, tensor);

    for (int i = -options.warmups; i < options.iterations; i++) {
        fill(tensor, rank);
        gloo::BarrierOptions barrier(context);
        gloo::barrier(barrier);
        int64_t cpu = read_clock(CLOCK_PROCESS_CPUTIME_ID);
        int64_t start = read_clock(CLOCK_MONOTONIC);
        call();
        int64_t end = read_clock(CLOCK_MONOTONIC);
        if (i >= 0) {
            shared->cpu_ns[rank] += read_clock(CLOCK_PROCESS_CPUTIME_ID) - cpu;
            shared->times_us[i * options.ranks + rank] = static_cast<double>(end - start) / 1000;
        }
        shared->wrong[rank] += count_wrong(options, tensor, rank);
    }
    gloo::BarrierOptions barrier(context);
    gloo::barrier(barrier);
}

/* ---- all ranks ---- */

bool run_all(const Options &options, const std::string &store_path, Shared *shared)
{
    bool good = true;
    for (int rank = 0; rank < options.ranks; rank++) {
        pid_t child = fork();
        if (child == 0) {
            try {
                run_rank(options, rank, store_path, shared);
            } catch (const std::exception &error) {
                fprintf(stderr, "gloo_collective: rank %d: %s\n", rank, error.what());
                _exit(1);
            }
            _exit(0);
        }
        good = good && child > 0;
    }
    int status = 0;
    while (wait(&status) > 0) {
        good = good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    return good;
}

void print(const Options &options, const Shared *shared)
{
    int64_t wrong = 0;
    printf("{\"peer\":\"gloo\",\"collective\":\"%s\",\"algorithm\":\"%s\",\"ranks\":%d,\"size\":%zu,\"iterations\":%d,\"warmups\":%d,\"times_us\":[",
           options.collective.c_str(), options.algorithm.c_str(), options.ranks, options.bytes, options.iterations, options.warmups);
    for (int i = 0; i < options.iterations; i++) {
        double slowest = 0;
        for (int rank = 0; rank < options.ranks; rank++) {
            slowest = std::max(slowest, shared->times_us[i * options.ranks + rank]);
        }
        printf("%s%.3f", i > 0 ? "," : "", slowest);
    }
    printf("],\"workers\":[");
    for (int rank = 0; rank < options.ranks; rank++) {
        wrong += shared->wrong[rank];
        printf("%s{\"cpu_ns\":%lld,\"wrong\":%lld}", rank > 0 ? "," : "", static_cast<long long>(shared->cpu_ns[rank]),
               static_cast<long long>(shared->wrong[rank]));
    }
    printf("],\"wrong\":%lld}\n", static_cast<long long>(wrong));
}

std::vector<std::string> split(const std::string &text)
{
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, ',');) {
        parts.push_back(part);
    }
    return parts;
}

Options read_options(int argc, char **argv)
{
    Options options;
    for (int i = 1; i + 1 < argc; i += 2) {
        std::string name = argv[i];
        std::string value = argv[i + 1];
        if (name == "--ranks") {
            options.ranks = std::stoi(value);
        } else if (name == "--bytes") {
            options.bytes = std::stoul(value);
        } else if (name == "--iterations") {
            options.iterations = std::stoi(value);
        } else if (name == "--warmups") {
            options.warmups = std::stoi(value);
        } else if (name == "--collective") {
            options.collective = value;
        } else if (name == "--algorithm") {
            options.algorithm = value;
        } else if (name == "--netns") {
            options.namespaces = split(value);
        } else if (name == "--address") {
            options.addresses = split(value);
        } else {
            throw std::runtime_error("unknown option " + name);
        }
    }
    if (options.bytes % (sizeof(float) * static_cast<size_t>(options.ranks)) != 0) {
        throw std::runtime_error("--bytes is a multiple of a float for each rank");
    }
    if (options.ranks < 2 || options.ranks > RANKS_MAX || options.iterations < 1 || argc % 2 == 0) {
        throw std::runtime_error("--ranks 2 to 64, --iterations at least 1, every option with a value");
    }
    return options;
}

int run(const Options &options)
{
    size_t size = sizeof(Shared) + sizeof(double) * static_cast<size_t>(options.iterations * options.ranks);
    void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    std::string path = std::filesystem::temp_directory_path() / "gloo-store-XXXXXX";
    if (memory == MAP_FAILED || mkdtemp(path.data()) == nullptr) {
        throw std::runtime_error("no memory or no folder for the ranks to meet in");
    }
    bool good = run_all(options, path, static_cast<Shared *>(memory));
    if (good) {
        print(options, static_cast<const Shared *>(memory));
    }
    std::filesystem::remove_all(path);
    return good ? 0 : 1;
}

} // namespace

int main(int argc, char **argv)
{
    try {
        return run(read_options(argc, argv));
    } catch (const std::exception &error) {
        fprintf(stderr, "gloo_collective: %s\n", error.what());
        return 2;
    }
}
