package wisp.it.cases.thread;

import static wisp.it.Kit.say;

import wisp.it.WispCase;

/** The main thread is a task as well: here is no other thread that could be one. */
@WispCase(smoke = true)
public final class MainAlone {
    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 5; i++) {
            Thread.sleep(5);
            Thread.yield();
        }
        Thread main = Thread.currentThread();
        say("%s %s %s", main.getName(), main.getThreadGroup().getName(), main.isDaemon());
    }
}
