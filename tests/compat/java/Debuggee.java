/** What jdb steps through: step is called by one thread while others wait, run and sleep. */
public class Debuggee {
    static int step(int n) {
        int twice = n * 2;
        int square = n * n;
        return twice + square;
    }

    public static void main(String[] args) throws Exception {
        boolean[] stop = {false};
        Object lock = new Object();
        Thread[] workers = new Thread[4];
        for (int i = 0; i < 4; i++) {
            int me = i;
            workers[i] = new Thread(() -> {
                long h = 0;
                while (true) {
                    synchronized (lock) {
                        if (stop[0]) return;
                        try {
                            if (me == 1) lock.wait(5);
                        } catch (InterruptedException e) {
                            return;
                        }
                    }
                    if (me == 2) Thread.yield();
                    else for (int k = 0; k < 1000; k++) h = h * 31 + k;
                }
            }, "worker " + i);
            workers[i].start();
        }
        int[] sum = {0};
        Thread stepper = new Thread(() -> {
            for (int n = 3; n < 8; n++) sum[0] += step(n);
        }, "stepper");
        stepper.start();
        stepper.join();
        synchronized (lock) {
            stop[0] = true;
        }
        for (Thread t : workers) t.join();
        System.out.println("sum " + sum[0]);
    }
}
