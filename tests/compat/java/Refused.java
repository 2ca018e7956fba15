import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/**
 * Starts threads until the JVM refuses one, lets them end, and does so again: the same exception, the
 * program goes on, nothing leaked. Arguments: stack size of each in MiB, most threads, rounds.
 */
public class Refused {
    static long mappedKb() throws Exception {
        for (String line : Files.readAllLines(Paths.get("/proc/self/status")))
            if (line.startsWith("VmSize:")) return Long.parseLong(line.replaceAll("[^0-9]", ""));
        return -1;
    }

    public static void main(String[] args) throws Exception {
        long stack = Long.parseLong(args[0]) << 20;
        int most = Integer.parseInt(args[1]), rounds = Integer.parseInt(args[2]);
        int[] counts = new int[rounds];
        long[] size = new long[rounds];
        for (int round = 0; round < rounds; round++) {
            CountDownLatch go = new CountDownLatch(1);
            List<Thread> threads = new ArrayList<>();
            String refusal = "none";
            try {
                for (int i = 0; i < most; i++) {
                    Thread t = new Thread(null, () -> {
                        try {
                            go.await();
                        } catch (InterruptedException e) {
                            throw new IllegalStateException(e);
                        }
                    }, "r" + i, stack);
                    t.start();
                    threads.add(t);
                }
            } catch (OutOfMemoryError e) {
                refusal = e.getMessage().replaceAll(":.*| *possibly.*", "");
            }
            go.countDown();
            for (Thread t : threads) t.join();
            counts[round] = threads.size();
            Thread.sleep(100);
            size[round] = mappedKb();
            // The program goes on: threads of the ordinary kind, a collection, a child.
            Thread[] after = new Thread[5];
            int[] ran = {0};
            for (int i = 0; i < 5; i++) {
                after[i] = new Thread(() -> { synchronized (ran) { ran[0]++; } });
                after[i].start();
            }
            for (Thread t : after) t.join();
            System.gc();
            System.out.println("refused: " + refusal + ", then ran " + ran[0]);
        }
        StringBuilder s = new StringBuilder();
        for (int i = 0; i < rounds; i++) s.append(counts[i]).append(" threads, ").append(size[i] >> 10).append(" MiB; ");
        System.err.println(s);
        int last = rounds - 1;
        System.out.println("as many again " + (counts[last] >= counts[1] - counts[1] / 8 - 2));
        System.out.println("nothing leaked " + (size[last] < size[1] + (256 << 10)));
    }
}
