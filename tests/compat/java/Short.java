/** A program that is soon over: some threads, one sum. Argument: how many. */
public class Short {
    public static void main(String[] args) throws Exception {
        Thread[] threads = new Thread[Integer.parseInt(args[0])];
        int[] sum = {0};
        for (int i = 0; i < threads.length; i++) {
            int me = i;
            threads[i] = new Thread(() -> {
                synchronized (sum) {
                    sum[0] += me;
                }
            });
            threads[i].start();
        }
        for (Thread t : threads) t.join();
        System.out.println("sum " + sum[0]);
    }
}
