package wisp.bench;

/** Two threads take turns under one monitor with wait and notify; the time of one hand-over. */
public final class MonitorHandover {
    private final Object monitor = new Object();
    private boolean firstsTurn = true;
    private long turns;

    public static void main(String[] args) throws Exception {
        Options options = new Options(MonitorHandover.class).define("handovers", 400_000)
                .define("kind", Threads.PLATFORM).parse(args);
        int handovers = options.number("handovers", 2, 1_000_000_000);
        String kind = options.text("kind", Threads.PLATFORM, Threads.VIRTUAL);

        run(kind, Math.max(2, handovers / 10)); // compiles the loop
        Report.value("ns_per_handover", run(kind, handovers));
        Report.valid();
    }

    private static double run(String kind, int handovers) throws InterruptedException {
        MonitorHandover game = new MonitorHandover();
        int each = handovers / 2;
        long start = System.nanoTime();
        Threads.runAll(kind, () -> game.play(true, each), () -> game.play(false, each));
        double nanos = System.nanoTime() - start;
        Report.check("turns taken", 2L * each, game.turns);
        return nanos / (2.0 * each);
    }

    private void play(boolean first, int times) {
        synchronized (monitor) {
            for (int i = 0; i < times; i++) {
                while (firstsTurn != first) {
                    try {
                        monitor.wait();
                    } catch (InterruptedException e) {
                        throw new IllegalStateException(e);
                    }
                }
                turns++;
                firstsTurn = !first;
                monitor.notify();
            }
        }
    }
}
