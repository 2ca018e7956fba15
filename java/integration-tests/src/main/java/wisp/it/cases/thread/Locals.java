package wisp.it.cases.thread;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import java.util.concurrent.atomic.AtomicInteger;
import wisp.it.Kit;
import wisp.it.WispCase;

/** ThreadLocals belong to one thread, inheritable ones start with the parent's value. */
@WispCase(smoke = true)
public final class Locals {
    private static final ThreadLocal<Integer> LOCAL = ThreadLocal.withInitial(() -> -1);
    private static final InheritableThreadLocal<String> INHERITED = new InheritableThreadLocal<String>() {
        @Override
        protected String childValue(String parent) {
            return parent + ">";
        }
    };

    public static void main(String[] args) throws Exception {
        AtomicInteger numbers = new AtomicInteger();
        INHERITED.set("main");
        // Twice, so that threads of the second round may run on what the first left behind.
        for (int round = 0; round < 2; round++) {
            Kit.together(50, "local", () -> {
                check("starts fresh", LOCAL.get() == -1);
                int mine = numbers.getAndIncrement();
                LOCAL.set(mine);
                for (int i = 0; i < 100; i++) {
                    Thread.yield();
                    check("stays mine", LOCAL.get() == mine);
                }
                Thread.sleep(2);
                check("stays mine over a sleep", LOCAL.get() == mine);
                LOCAL.remove();
                check("fresh after remove", LOCAL.get() == -1);
                check("inherited " + INHERITED.get(), INHERITED.get().equals("main>"));
                Thread child = Kit.start("child", () -> check("grandchild", INHERITED.get().equals("main>>")));
                Kit.join(child);
            });
        }
        say("threads %d, main still %d", numbers.get(), LOCAL.get());
    }
}
