package wisp.bench;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * The main job: two pool threads pass a byte to and fro over two queues, each timing its own loop.
 * {@code tail_ns} is the time of one round trip over the second half of the loop, when the code is compiled.
 */
public final class PingPong {
    private static int trips;

    public static void main(String[] args) throws Exception {
        Options options = new Options(PingPong.class).define("trips", 1_000_000).define("kind", Threads.PLATFORM).parse(args);
        trips = options.number("trips", 2, 1_000_000_000);
        String kind = options.text("kind", Threads.PLATFORM, Threads.VIRTUAL);

        ExecutorService pool = Threads.cachedPool(kind);
        BlockingQueue<Byte> ping = new LinkedBlockingQueue<>();
        BlockingQueue<Byte> pong = new LinkedBlockingQueue<>();
        Future<Loop> first = pool.submit(() -> new Loop(ping, pong));
        Future<Loop> second = pool.submit(() -> new Loop(pong, ping));
        ping.put((byte) 42);
        Loop a = first.get();
        Loop b = second.get();

        Report.check("sum of bytes received", 42L * trips * 2, a.sum + b.sum);
        Report.check("bytes left in the queues", 1, ping.size() + pong.size());
        Report.value("trips", trips);
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
        long sum;

        Loop(BlockingQueue<Byte> in, BlockingQueue<Byte> out) throws InterruptedException {
            int half = trips / 2;
            long start = System.nanoTime();
            pass(in, out, half);
            long middle = System.nanoTime();
            pass(in, out, trips - half);
            long end = System.nanoTime();
            totalMs = (end - start) / 1e6;
            tailNanos = (double) (end - middle) / (trips - half);
        }

        private void pass(BlockingQueue<Byte> in, BlockingQueue<Byte> out, int times) throws InterruptedException {
            for (int i = 0; i < times; i++) {
                Byte message = in.take();
                sum += message;
                out.put(message);
            }
        }
    }
}
