package wisp.it.cases.libraries;

/** Code that profilers shall find, for 300 us at a time: each thread of a case has its own. */
final class Burns {
    private static final int NANOS = 300_000;
    private static volatile double sink;

    static void burnRed() {
        for (long end = System.nanoTime() + NANOS; System.nanoTime() < end; ) work();
    }

    static void burnGreen() {
        for (long end = System.nanoTime() + NANOS; System.nanoTime() < end; ) work();
    }

    static void burnBlue() {
        for (long end = System.nanoTime() + NANOS; System.nanoTime() < end; ) work();
    }

    private static void work() {
        double sum = 0;
        for (int i = 1; i < 200; i++) sum += Math.sqrt(i);
        sink = sum;
    }

    private Burns() {
    }
}
