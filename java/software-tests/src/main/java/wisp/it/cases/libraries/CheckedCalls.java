package wisp.it.cases.libraries;

import wisp.it.Kit;
import wisp.it.WispCase;

/**
 * The JVM checks calls of its native interface (its warnings are on standard output) while Flight Recorder takes our
 * events, and threads wait for monitors and end: our calls are as they have to be.
 */
@WispCase(carriers = {1, 2}, minJdk = 11, flags = "-Xcheck:jni", timeoutSeconds = 120)
public final class CheckedCalls {
    private static final Object MONITOR = new Object();

    public static void main(String[] args) throws Exception {
        Recordings.tool("jfrStart", "name=checked");
        Thread[] threads = new Thread[20];
        for (int i = 0; i < threads.length; i++) threads[i] = Kit.start("contender " + i, CheckedCalls::contend);
        Kit.join(threads);
        Recordings.tool("jfrStop", "name=checked");
        Kit.say("no warnings");
    }

    private static void contend() throws InterruptedException {
        for (int i = 0; i < 20; i++) {
            synchronized (MONITOR) {
                Thread.sleep(2);
            }
        }
    }
}
