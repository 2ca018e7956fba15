package wisp.bench;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Threads in rings; in each ring one token goes round, handed on by park and unpark. With few rings of many threads
 * it shows what a hand-over costs when all stacks do not fit the caches; with many pairs how carriers scale.
 */
public final class Rings {
    private static volatile boolean started;
    private static int laps;
    private static final AtomicLong passed = new AtomicLong();

    public static void main(String[] args) throws Exception {
        Options options = new Options(Rings.class).define("threads", 1_000).define("rings", 4).define("hops", 1_000_000)
                .define("kind", Threads.PLATFORM).parse(args);
        int count = options.number("threads", 2, 1_000_000);
        int rings = options.number("rings", 1, count / 2);
        int hops = options.number("hops", 1, 1_000_000_000);
        String kind = options.text("kind", Threads.PLATFORM, Threads.VIRTUAL);
        laps = Math.max(1, hops / count);

        long before = Proc.status("VmRSS");
        CountDownLatch arrived = new CountDownLatch(count);
        Member[] members = new Member[count];
        for (int i = 0; i < count; i++) {
            members[i] = new Member(arrived);
            members[i].thread = Threads.unstarted(kind, members[i]);
        }
        // Ring r has the members r, r + rings, r + 2 rings …
        for (int i = 0; i < count; i++) {
            members[i].next = members[i + rings < count ? i + rings : i % rings];
        }
        long creation = System.nanoTime();
        for (Member member : members) {
            member.thread.start();
        }
        arrived.await();
        double startMicros = (System.nanoTime() - creation) / 1e3;
        Thread.sleep(100); // lets the last ones really park
        long parked = Proc.status("VmRSS");

        long cpu = Proc.cpuMillis();
        long start = System.nanoTime();
        started = true;
        for (int ring = 0; ring < rings; ring++) {
            members[ring].give();
        }
        for (Member member : members) {
            member.thread.join();
        }
        double nanos = System.nanoTime() - start;
        long total = (long) laps * count;
        Report.check("hand-overs", total, passed.get());
        Report.value("ns_per_hop", nanos / total);
        Report.value("cpu_ns_per_hop", (Proc.cpuMillis() - cpu) * 1e6 / total);
        Report.value("hops_per_s", total * 1e9 / nanos);
        Report.value("start_us_per_thread", startMicros / count);
        Report.value("kb_per_thread", (double) (parked - before) / count);
        Report.valid();
    }

    private static final class Member implements Runnable {
        private final CountDownLatch arrived;
        private Thread thread;
        private Member next;
        private volatile boolean token;

        Member(CountDownLatch arrived) {
            this.arrived = arrived;
        }

        void give() {
            token = true;
            LockSupport.unpark(thread);
        }

        @Override
        public void run() {
            arrived.countDown();
            int mine = 0;
            while (mine < laps) {
                while (!token || !started) {
                    LockSupport.park(this);
                }
                token = false;
                mine++;
                next.give(); // the last one's token goes to a thread that has ended: harmless
            }
            passed.addAndGet(mine);
        }
    }
}
