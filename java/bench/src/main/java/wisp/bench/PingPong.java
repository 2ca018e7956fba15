package wisp.bench;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * The main job: two pool threads pass a byte to and fro over two queues, each timing its own loop.
 * {@code tail_ns} is the time of one round trip over the second half of the loop, when the code is compiled. With
 * {@code --seconds} the first thread ends the game when they have passed, with a byte that says so; {@code trips} is
 * what there was.
 */
public final class PingPong {
    private static final byte BALL = 42, LAST_BALL = 43;
    /** Between two looks at the clock. */
    private static final int STRETCH = 1000;
    private static int trips;

    public static void main(String[] args) throws Exception {
        Options options = new Options(PingPong.class).define("trips", 1_000_000).define("seconds", 0)
                .define("kind", Threads.PLATFORM).parse(args);
        trips = options.number("trips", 2, 1_000_000_000);
        int seconds = options.number("seconds", 0, 86_400);
        String kind = options.text("kind", Threads.PLATFORM, Threads.VIRTUAL);

        ExecutorService pool = Threads.cachedPool(kind);
        BlockingQueue<Byte> ping = new LinkedBlockingQueue<>();
        BlockingQueue<Byte> pong = new LinkedBlockingQueue<>();
        Future<Loop> first = pool.submit(() -> new Loop(ping, pong, seconds));
        Future<Loop> second = pool.submit(() -> new Loop(pong, ping, 0));
        ping.put(BALL);
        Loop a = first.get();
        Loop b = second.get();

        Report.check("round trips of the second thread", a.done, b.done);
        long expected = (long) BALL * a.done + (a.cut ? LAST_BALL - BALL : 0);
        Report.check("sum of bytes passed on", expected * 2, a.sum + b.sum);
        Report.check("bytes left in the queues", 1, ping.size() + pong.size());
        Report.value("trips", a.done);
        Report.value("ms", Math.max(a.totalMs, b.totalMs));
        Report.value("ms_first", a.totalMs);
        Report.value("ms_second", b.totalMs);
        Report.value("tail_ns", Math.max(a.tailNanos, b.tailNanos));
        Report.valid();
        pool.shutdown();
    }

    private static final class Loop {
        final double totalMs;
        final double tailNanos;
        int done;
        boolean cut;
        long sum;

        Loop(BlockingQueue<Byte> in, BlockingQueue<Byte> out, int seconds) throws InterruptedException {
            long[] stamps = new long[trips / STRETCH + 2];
            int stretches = 0;
            long start = System.nanoTime();
            long limit = seconds == 0 ? Long.MAX_VALUE : start + seconds * 1_000_000_000L;
            stamps[0] = start;
            boolean more = true;
            while (more) {
                int next = Math.min(STRETCH, trips - done);
                more = pass(in, out, next, stamps[stretches] >= limit) && done < trips;
                stamps[++stretches] = System.nanoTime();
            }
            totalMs = (stamps[stretches] - start) / 1e6;
            int half = stretches / 2;
            tailNanos = (double) (stamps[stretches] - stamps[half]) / (done - half * STRETCH);
        }

        /** False: the byte said that it is the last, or was made so. */
        private boolean pass(BlockingQueue<Byte> in, BlockingQueue<Byte> out, int times, boolean late)
                throws InterruptedException {
            for (int i = 0; i < times; i++) {
                byte message = in.take();
                if (late) message = LAST_BALL;
                sum += message;
                out.put(message);
                done++;
                if (message == LAST_BALL) {
                    cut = true;
                    return false;
                }
            }
            return true;
        }
    }
}
