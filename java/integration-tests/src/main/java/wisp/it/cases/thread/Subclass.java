package wisp.it.cases.thread;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import wisp.it.WispCase;

/** A subclass of Thread is its own currentThread. */
@WispCase(smoke = true)
public final class Subclass {
    private static final class Own extends Thread {
        private final int number;
        private volatile boolean same;

        Own(int number) {
            super("own-" + number);
            this.number = number;
        }

        @Override
        public void run() {
            same = Thread.currentThread() == this && ((Own) Thread.currentThread()).number == number;
            Thread.yield();
            same &= Thread.currentThread() == this;
        }
    }

    public static void main(String[] args) throws Exception {
        Own[] all = new Own[50];
        for (int i = 0; i < all.length; i++) {
            all[i] = new Own(i);
            all[i].start();
        }
        for (Own one : all) {
            one.join();
            check(one.getName(), one.same);
        }
        say("main is %s", Thread.currentThread().getName());
    }
}
