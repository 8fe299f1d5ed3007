// SPDX-License-Identifier: Apache-2.0
// The counts that `simrun selfcheck` demands. Most follow from a closed form, written beside them; the others are reference outputs of
// Concuerror, GenMC (sequential consistency) and Nidhugg, or were counted without reduction.
#include "heddle/properties/litmus/litmus.hpp"

namespace heddle::prop {
namespace {

using sim::KnownCount;
using sim::Reduction;

const std::vector<Reduction> all_three{Reduction::none, Reduction::source, Reduction::optimal};
const std::vector<Reduction> reduced{Reduction::source, Reduction::optimal};
const std::vector<Reduction> best{Reduction::optimal};

KnownCount small(const char* call, std::uint64_t traces) { return {call, traces, all_three}; }
KnownCount usual(const char* call, std::uint64_t traces) { return {call, traces, reduced}; }
KnownCount large(const char* call, std::uint64_t traces) { return {.call = call, .traces = traces, .reductions = best, .large = true}; }
KnownCount bounded(const char* call, std::uint32_t bound, std::uint64_t traces) {
    return {.call = call, .traces = traces, .reductions = {Reduction::source}, .bound = bound};
}

}  // namespace

std::vector<KnownCount> known_counts() {
    return {
        // ── shared cells ──

        // 2^n
        small("litmus/readers:n=2", 4),
        small("litmus/readers:n=3", 8),
        usual("litmus/readers:n=6", 64),
        usual("litmus/readers:n=8", 256),
        usual("litmus/readers:n=9", 512),
        large("litmus/readers:n=13", 8'192),
        small("litmus/readers_2:n=3", 8),
        usual("litmus/readers_2:n=8", 256),
        small("litmus/readers_compare:n=3", 8),

        // n!
        small("litmus/writers:n=3", 6),
        small("litmus/writers:n=4", 24),
        usual("litmus/writers:n=5", 120),
        usual("litmus/writers:n=6", 720),

        // (n+1)!
        small("litmus/writers_reader:n=3", 24),
        usual("litmus/writers_reader:n=5", 720),

        // the i-th swaps i-1 for i (GenMC)
        small("litmus/casrot:n=2", 2),
        small("litmus/casrot:n=3", 5),
        small("litmus/casrot:n=4", 14),
        small("litmus/casrot:n=5", 43),
        usual("litmus/casrot:n=6", 144),
        usual("litmus/casrot:n=7", 523),
        usual("litmus/casrot:n=8", 2'048),
        large("litmus/casrot:n=9", 8'597),

        // n 2^(n-1) + 1
        small("litmus/wcas:n=2", 5),
        small("litmus/wcas:n=3", 13),
        small("litmus/wcas:n=4", 33),
        usual("litmus/wcas:n=5", 81),
        usual("litmus/wcas:n=6", 193),
        usual("litmus/wcas:n=7", 449),
        usual("litmus/wcas:n=8", 1'025),
        usual("litmus/wcas:n=9", 2'305),

        // GenMC
        small("litmus/casw:n=2", 6),
        small("litmus/casw:n=3", 66),
        usual("litmus/casw:n=4", 1'200),
        large("litmus/casw:n=5", 32'880),

        // n
        small("litmus/cas:n=4", 4),
        usual("litmus/cas:n=7", 7),

        // n!, (n!)^2, (n!)^3
        small("litmus/ainc:n=4", 24),
        usual("litmus/ainc:n=6", 720),
        small("litmus/binc:n=3", 36),
        usual("litmus/binc:n=4", 576),
        small("litmus/cinc:n=2", 8),
        usual("litmus/cinc:n=3", 216),
        usual("litmus/cinc:n=4", 13'824),

        // n!
        small("litmus/lockinc:n=3", 6),
        usual("litmus/lockinc:n=5", 120),
        large("litmus/lockinc:n=7", 5'040),
        usual("litmus/lock2inc:n=4", 24),
        large("litmus/lock2inc:n=7", 5'040),

        // (n!)^2
        small("litmus/rw:n=2", 4),
        small("litmus/inc:n=2", 4),
        small("litmus/rw:n=3", 36),
        small("litmus/inc:n=3", 36),
        usual("litmus/rw:n=4", 576),
        usual("litmus/inc:n=4", 576),

        // C(2n,n)^readers
        small("litmus/hairbrush:n=2", 6),
        small("litmus/hairbrush:n=3", 20),
        small("litmus/hairbrush:n=2,readers=2", 36),
        usual("litmus/hairbrush:n=3,readers=2", 400),

        // conditional accesses (Concuerror)
        small("litmus/popl", 5),
        small("litmus/sleeping_races_6", 10),
        small("litmus/combination_lock_1", 6),

        // (n+3) 2^(n-2)
        small("litmus/lastzero:n=1", 2),
        small("litmus/lastzero:n=2", 5),
        small("litmus/lastzero:n=3", 12),
        usual("litmus/lastzero:n=4", 28),
        usual("litmus/lastzero:n=5", 64),
        usual("litmus/lastzero:n=6", 144),
        usual("litmus/lastzero:n=8", 704),
        usual("litmus/lastzero:n=10", 3'328),
        large("litmus/lastzero:n=15", 147'456),

        // 2 n!
        small("litmus/exp_mem:n=3", 12),
        usual("litmus/exp_mem:n=4", 48),
        usual("litmus/exp_mem:n=5", 240),
        usual("litmus/exp_mem:n=6", 1'440),
        large("litmus/exp_mem:n=7", 10'080),

        // GenMC
        small("litmus/coa:n=1", 4),
        small("litmus/coa:n=2", 15),
        usual("litmus/coa:n=3", 130),
        usual("litmus/coa:n=4", 2'028),
        large("litmus/coa:n=5", 49'776),
        large("litmus/coa:n=6", 1'766'880),

        // 4k + 10
        usual("litmus/shared_ptr:k=1", 14),
        usual("litmus/shared_ptr:k=5", 30),
        usual("litmus/shared_ptr:k=100", 410),

        // GenMC at 6 rounds; the others were counted
        usual("litmus/commits:rounds=3", 150),
        usual("litmus/commits:rounds=4", 424),
        usual("litmus/commits:rounds=5", 928),
        usual("litmus/commits:rounds=6", 1'734),
        usual("litmus/commits:rounds=7", 2'914),

        // GenMC
        usual("litmus/eratosthenes:n=5", 398),
        small("litmus/fib_bench:n=1", 11),
        usual("litmus/fib_bench:n=2", 140),
        usual("litmus/fib_bench:n=3", 1'698),
        usual("litmus/fib_bench:n=4", 19'605),
        large("litmus/fib_bench:n=5", 218'243),
        small("litmus/fib:n=1", 3),
        small("litmus/fib:n=2", 19),
        usual("litmus/fib:n=3", 141),
        usual("litmus/fib:n=4", 1'107),
        large("litmus/big0", 69'112),
        large("litmus/big1", 1'820'474),
        large("litmus/big2", 5'284'890),

        // 8^(n-11) for 11 <= n <= 22
        usual("litmus/indexer:n=11", 1),
        usual("litmus/indexer:n=12", 8),
        usual("litmus/indexer:n=13", 64),
        usual("litmus/indexer:n=14", 512),
        large("litmus/indexer:n=15", 4'096),

        // 2^(n-13) for 13 <= n <= 26
        usual("litmus/filesystem:n=13", 1),
        usual("litmus/filesystem:n=14", 2),
        usual("litmus/filesystem:n=16", 8),
        usual("litmus/filesystem:n=18", 32),
        large("litmus/filesystem:n=20", 128),

        // C(2n+1,n)
        small("litmus/bug_after_1k:n=3", 35),
        usual("litmus/bug_after_1k:n=6", 1'716),

        // ── mailboxes ──

        // Concuerror
        usual("litmus/after_test", 36),
        {.call = "litmus/after_spawns",
         .traces = 270,
         .remark = "published as 247, which counts two sends whose messages nobody takes as independent"},
        usual("litmus/workers:n=2,k=1", 32),
        usual("litmus/workers:n=2,k=2", 200),
        usual("litmus/workers_2", 1'296),

        // ── messages to handlers ──

        // n!
        usual("litmus/nW:n=3", 6),
        usual("litmus/nW:n=4", 24),
        usual("litmus/multipost1:n=3", 6),
        usual("litmus/multipost1:n=4", 24),
        usual("litmus/buyers:n=3", 6),
        usual("litmus/buyers:n=4", 24),
        usual("litmus/dep_n_indep:n=3", 6),
        usual("litmus/dep_n_indep:n=4", 24),
        usual("litmus/ordered_posts1:n=3", 6),
        usual("litmus/ordered_posts1:n=4", 24),
        usual("litmus/nR:n=4", 1),
        usual("litmus/ordered_posts1:n=4,fifo=1", 1),

        // (n+1)^n n!, (n+1)^(n-1) n!, [(n+1)^n n!]^2
        usual("litmus/nW_nR:n=2", 18),
        usual("litmus/nW_nR:n=3", 384),
        large("litmus/nW_nR:n=4", 15'000),
        usual("litmus/nW_n1R:n=3", 96),
        usual("litmus/nW_n1R:n=4", 3'000),
        usual("litmus/two_cells_nW_nR:n=2", 324),

        // (n!)^2, (2n)!, (n+1)!
        usual("litmus/dep_msgs2:n=2", 4),
        usual("litmus/dep_msgs2:n=3", 36),
        usual("litmus/two_handlers_2nW:n=2", 24),
        usual("litmus/two_handlers_2nW:n=3", 720),
        usual("litmus/nonatomic_2nW:n=2", 6),
        usual("litmus/nonatomic_2nW:n=3", 24),
        usual("litmus/nonatomic_2nW:n=4", 120),
        usual("litmus/ordered_posts2", 4),
        usual("litmus/ordered_posts3", 12),
        usual("litmus/three_msgs", 12),

        // 2 n!: n! decide, n! gave up
        usual("litmus/two_phase_commit:n=2", 4),
        usual("litmus/two_phase_commit:n=3", 12),
        usual("litmus/two_phase_commit:n=4", 48),

        // n! (1 + sum of k/(k+1) for k < n)
        usual("litmus/ping_pong:n=2", 3),
        usual("litmus/ping_pong:n=3", 13),
        usual("litmus/ping_pong:n=4", 70),
        usual("litmus/ping_pong:n=5", 446),

        // ── within a bound: who ran last goes on, the k-th branch of a node costs k ──
        bounded("litmus/readers:n=6", 0, 1),
        bounded("litmus/readers:n=6", 1, 2),
        bounded("litmus/readers:n=6", 2, 8),
        bounded("litmus/readers:n=6", 3, 23),
        bounded("litmus/readers:n=6", 4, 43),
        bounded("litmus/readers:n=6", 5, 58),
        bounded("litmus/readers:n=6", 6, 64),
        bounded("litmus/readers:n=6", 7, 64),
        bounded("litmus/readers_2:n=6", 0, 1),
        bounded("litmus/readers_2:n=6", 1, 7),
        bounded("litmus/readers_2:n=6", 2, 22),
        bounded("litmus/readers_2:n=6", 3, 42),
        bounded("litmus/readers_2:n=6", 4, 57),
        bounded("litmus/readers_2:n=6", 5, 63),
        bounded("litmus/readers_2:n=6", 6, 64),
        bounded("litmus/writers:n=6", 0, 1),
        bounded("litmus/writers:n=6", 1, 6),
        bounded("litmus/writers:n=6", 2, 20),
        bounded("litmus/writers:n=6", 3, 49),
        bounded("litmus/writers:n=6", 4, 98),
        bounded("litmus/writers:n=6", 5, 169),
        bounded("litmus/writers:n=6", 6, 259),
        bounded("litmus/writers:n=6", 7, 360),
        bounded("litmus/two_writes:p=10", 0, 1),
        bounded("litmus/two_writes:p=10", 1, 19),
        bounded("litmus/two_writes:p=10", 2, 197),
        bounded("litmus/readers_compare:n=3", 0, 1),
        bounded("litmus/readers_compare:n=3", 1, 2),
        bounded("litmus/readers_compare:n=3", 2, 5),
        bounded("litmus/readers_compare:n=3", 3, 8),

        // ── coroutine objects ──

        // (nk)!/(k!)^n
        small("litmus/yielders:n=2,k=2", 6),
        usual("litmus/yielders:n=3,k=3", 1'680),

        // 2^n; floor(e (n-1)!); 2^(n-1); 1
        small("litmus/timeouts:n=2", 4),
        usual("litmus/timeouts:n=6", 64),
        small("litmus/cancel_log:n=2", 2),
        small("litmus/cancel_log:n=3", 5),
        small("litmus/cancel_log:n=4", 16),
        usual("litmus/cancel_log:n=5", 65),
        usual("litmus/cancel_log:n=6", 326),
        small("litmus/cancel_set:n=2", 2),
        small("litmus/cancel_set:n=3", 4),
        small("litmus/cancel_set:n=4", 8),
        usual("litmus/cancel_set:n=5", 16),
        usual("litmus/cancel_set:n=6", 32),
        usual("litmus/batches:n=8", 1),

        // the object as one cell; n! 2^(n-1) by operation cells; n! where waits are unseen
        usual("litmus/mutex:n=2,cells=whole", 4),
        usual("litmus/mutex:n=3,cells=whole", 30),
        usual("litmus/mutex:n=4,cells=whole", 336),
        large("litmus/mutex:n=5,cells=whole", 5'040),
        usual("litmus/mutex:n=2", 4),
        usual("litmus/mutex:n=3", 24),
        usual("litmus/mutex:n=4", 192),
        usual("litmus/mutex:n=5", 1'920),
        usual("litmus/mutex:n=3,waits=unseen", 6),
        usual("litmus/mutex:n=5,waits=unseen", 120),
        usual("litmus/pool:n=3,m=2,cells=whole", 78),
        usual("litmus/pool:n=4,m=2,cells=whole", 1'608),
        usual("litmus/pool:n=4,m=3,cells=whole", 2'376),
        large("litmus/pool:n=5,m=2,cells=whole", 45'720),
        usual("litmus/pool:n=3,m=2", 48),
        usual("litmus/pool:n=4,m=2", 768),
        usual("litmus/pool:n=4,m=3", 864),
        large("litmus/pool:n=5,m=2", 15'360),
        usual("litmus/pool:n=3,m=2,waits=unseen", 24),
        usual("litmus/pool:n=4,m=2,waits=unseen", 192),
        usual("litmus/pool:n=4,m=3,waits=unseen", 432),
        usual("litmus/pool:n=5,m=2,waits=unseen", 1'920),
        usual("litmus/chan:p=2,k=2,cells=whole", 252),
        large("litmus/chan:p=3,k=2,cells=whole", 38'610),
        usual("litmus/chan:p=2,k=2", 96),
        usual("litmus/chan:p=3,k=2", 5'760),
        usual("litmus/chan:p=2,k=2,waits=unseen", 6),
        usual("litmus/chan:p=3,k=2,waits=unseen", 90),
        small("litmus/lock:n=2", 4),
        usual("litmus/lock:n=4", 192),
        usual("litmus/lock:n=4,waits=unseen", 24),
    };
}

}  // namespace heddle::prop
