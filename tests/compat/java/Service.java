import java.util.concurrent.LinkedBlockingQueue;

/** A daemon of jsvc: threads that answer each other, until it is told to stop. */
public class Service {
    private volatile boolean stopped;
    private Thread thread;

    static long rounds(int n) throws InterruptedException {
        LinkedBlockingQueue<Integer> there = new LinkedBlockingQueue<>(), back = new LinkedBlockingQueue<>();
        long[] sum = {0};
        Thread answers = new Thread(() -> {
            try {
                for (int value = there.take(); value >= 0; value = there.take()) {
                    back.put(value + 1);
                }
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        Thread asks = new Thread(() -> {
            try {
                for (int i = 0; i < n; i++) {
                    there.put(i);
                    sum[0] += back.take();
                }
                there.put(-1);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        answers.start();
        asks.start();
        asks.join();
        answers.join();
        return sum[0];
    }

    public void init(String[] arguments) {
        System.out.println("init " + String.join(" ", arguments));
    }

    public void start() {
        System.out.println("start");
        thread = new Thread(() -> {
            try {
                System.out.println("sum " + rounds(20_000));
                while (!stopped) {
                    Thread.sleep(10);
                }
                System.out.println("stopping");
            } catch (InterruptedException e) {
                e.printStackTrace();
            }
        });
        thread.start();
    }

    public void stop() throws InterruptedException {
        System.out.println("stop");
        stopped = true;
        thread.join();
    }

    public void destroy() {
        System.out.println("destroy");
    }
}
