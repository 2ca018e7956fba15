/** Null checks by SIGSEGV in many threads, while native code has installed a handler for that signal. */
public class Chaining {
    static native boolean install();
    static native int handled();

    static int length(String text) {
        return text.length();
    }

    static int nulls(int count) {
        int caught = 0;
        for (int i = 0; i < count; i++) {
            try {
                caught -= length(i % 50 == 0 ? null : "x") - 1;
            } catch (NullPointerException e) {
                caught++;
            }
            if (i % 1000 == 0) Thread.yield();
        }
        return caught;
    }

    public static void main(String[] args) throws Exception {
        System.load(args[0]);
        System.out.println("before " + nulls(10_000));
        System.out.println("installed " + install());
        int[] caught = new int[8];
        Thread[] threads = new Thread[8];
        for (int t = 0; t < threads.length; t++) {
            int me = t;
            threads[t] = new Thread(() -> caught[me] = nulls(50_000));
            threads[t].start();
        }
        for (int t = 0; t < threads.length; t++) {
            threads[t].join();
            System.out.println("thread " + t + " caught " + caught[t]);
        }
        System.gc();
        System.out.println("own handler ran " + handled() + " times");
    }
}
