import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** As many threads as wanted, all alive at once. Arguments: count, stack size of each (0 = default), rounds. */
public class ManyThreads {
    public static void main(String[] args) throws Exception {
        int count = Integer.parseInt(args[0]);
        long stack = Long.parseLong(args[1]);
        for (int round = 0; round < Integer.parseInt(args[2]); round++) {
            CountDownLatch started = new CountDownLatch(count), go = new CountDownLatch(1);
            List<Thread> threads = new ArrayList<>();
            long[] sum = {0};
            for (int i = 0; i < count; i++) {
                int me = i;
                Thread t = new Thread(null, () -> {
                    started.countDown();
                    try {
                        go.await();
                    } catch (InterruptedException e) {
                        return;
                    }
                    synchronized (sum) {
                        sum[0] += me;
                    }
                }, "t" + i, stack);
                t.start();
                threads.add(t);
            }
            started.await();
            go.countDown();
            for (Thread t : threads) t.join();
            System.out.println("sum " + sum[0]);
        }
    }
}
