package wisp.it.cases.stack;

/** How deep threads of several stack sizes get. */
final class Depths {
    private Depths() {}

    /** Calls until the stack overflows, the last of three times; 0: of the JVM's size. */
    static int of(long stackSize) throws InterruptedException {
        int[] reached = new int[1];
        Thread thread = new Thread(null, () -> {
            for (int i = 0; i < 3; i++) {
                reached[0] = 0;
                try {
                    descend(reached);
                } catch (StackOverflowError e) {
                    Thread.yield();
                }
            }
        }, "size" + stackSize, stackSize);
        thread.start();
        thread.join();
        return reached[0];
    }

    private static void descend(int[] reached) {
        reached[0]++;
        descend(reached);
    }
}
