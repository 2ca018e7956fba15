import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RecursiveTask;

/** Tasks that wait for another one by looking, without any call; and a fork/join pool that does so inside. */
public class Spin {
    static volatile int turn;

    static final class Sum extends RecursiveTask<Long> {
        final int from, to;

        Sum(int from, int to) {
            this.from = from;
            this.to = to;
        }

        @Override protected Long compute() {
            if (to - from < 4) {
                long sum = 0;
                for (int i = from; i < to; i++) sum += i;
                return sum;
            }
            int middle = (from + to) >>> 1;
            Sum left = new Sum(from, middle), right = new Sum(middle, to);
            left.fork();
            return right.compute() + left.join();
        }
    }

    public static void main(String[] args) throws Exception {
        int players = 3, rounds = 10;
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < players; i++) {
            int me = i;
            Thread t = new Thread(() -> {
                for (int k = 0; k < rounds; k++) {
                    while (turn % players != me) { }
                    turn++;  // only the one whose turn it is writes
                }
            });
            threads.add(t);
            t.start();
        }
        for (Thread t : threads) t.join();
        System.out.println("turns " + turn);
        for (int parallelism : new int[] {2, 4, 8}) {
            ForkJoinPool pool = new ForkJoinPool(parallelism);
            long sum = 0;
            for (int k = 0; k < 20; k++) sum += pool.submit(new Sum(0, 20000)).get();
            System.out.println("pool of " + parallelism + ": " + sum);
            pool.shutdown();
        }
    }
}
