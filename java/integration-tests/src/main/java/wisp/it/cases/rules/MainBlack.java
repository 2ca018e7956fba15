package wisp.it.cases.rules;

import static wisp.it.Kit.say;

import java.util.concurrent.SynchronousQueue;
import wisp.it.Kit;
import wisp.it.WispCase;

/** main obeys the rules as well: here it stays a plain thread, and works together with tasks. */
@WispCase(requires = "module:jdk.management", carriers = 1, wispFlags = "-Dcom.alibaba.wisp.threadAsWisp.black=name:main")
public final class MainBlack {
    public static void main(String[] args) throws Exception {
        Probe.reportMain(false);
        SynchronousQueue<Integer> queue = new SynchronousQueue<>();
        Thread thread = Kit.start("taking", () -> {
            int sum = 0;
            for (int i = 0; i < 1_000; i++) {
                sum += queue.take();
            }
            say("sum %d", sum);
        });
        for (int i = 0; i < 1_000; i++) {
            queue.put(i);
        }
        Kit.join(thread);
    }
}
