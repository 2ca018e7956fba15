package wisp.it.cases.juc;

import static wisp.it.Kit.say;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import wisp.it.WispCase;

/** The main job in small: a byte to and fro over two queues. */
@WispCase(smoke = true, variants = {WispCase.INTERPRETER, WispCase.C1})
public final class PingPong {
    public static void main(String[] args) throws Exception {
        int trips = 20_000;
        ExecutorService pool = Executors.newCachedThreadPool();
        BlockingQueue<Byte> ping = new LinkedBlockingQueue<>();
        BlockingQueue<Byte> pong = new LinkedBlockingQueue<>();
        Future<Long> first = pool.submit(() -> pass(ping, pong, trips));
        Future<Long> second = pool.submit(() -> pass(pong, ping, trips));
        ping.put((byte) 3);
        say("%d %d, left %d", first.get(), second.get(), ping.size() + pong.size());
        pool.shutdown();
    }

    private static long pass(BlockingQueue<Byte> in, BlockingQueue<Byte> out, int trips) throws InterruptedException {
        long sum = 0;
        for (int i = 0; i < trips; i++) {
            Byte message = in.take();
            sum += message;
            out.put(message);
        }
        return sum;
    }
}
