package wisp.it.cases.juc;

import static wisp.it.Kit.say;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import wisp.it.Kit;
import wisp.it.WispCase;

/** ConcurrentHashMap and friends under contention: computeIfAbsent waits for the one that computes. */
@WispCase
public final class Maps {
    public static void main(String[] args) throws Exception {
        ConcurrentHashMap<Integer, Integer> map = new ConcurrentHashMap<>();
        AtomicInteger computed = new AtomicInteger();
        LongAdder adder = new LongAdder();
        ConcurrentSkipListMap<Integer, Integer> ordered = new ConcurrentSkipListMap<>();
        Kit.together(8, "mapper", () -> {
            for (int i = 0; i < 200; i++) {
                map.computeIfAbsent(i, key -> {
                    computed.incrementAndGet();
                    if (key % 20 == 0) {
                        LockSupport.parkNanos(1_000_000);
                    }
                    return key;
                });
                map.merge(-1, 1, Integer::sum);
                ordered.merge(i, 1, Integer::sum);
                adder.increment();
            }
        });
        say("computed %d, merged %d, ordered %d, adder %d", computed.get(), map.get(-1),
                ordered.values().stream().mapToInt(x -> x).sum(), adder.sum());
    }
}
