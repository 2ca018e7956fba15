package wisp.it.cases.thread;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Names, ids, priorities, daemon flag and context class loader are inherited, unique or settable as specified. */
@WispCase
@SuppressWarnings("deprecation")
public final class Attributes {
    public static void main(String[] args) throws Exception {
        Set<Long> ids = ConcurrentHashMap.newKeySet();
        Kit.together(200, "id", () -> check("unique id", ids.add(Thread.currentThread().getId())));
        say("ids %d", ids.size());

        ClassLoader loader = new ClassLoader() { };
        Thread.currentThread().setContextClassLoader(loader);
        Thread.currentThread().setPriority(7);
        Thread thread = Kit.thread("first", () -> {
            Thread me = Thread.currentThread();
            check("loader inherited", me.getContextClassLoader() == loader);
            say("%s priority %d daemon %s", me.getName(), me.getPriority(), me.isDaemon());
            me.setName("second");
            me.setPriority(Thread.MIN_PRIORITY);
            me.setContextClassLoader(null);
            say("%s priority %d loader %s", me.getName(), me.getPriority(), me.getContextClassLoader());
            Kit.sayThrown("setDaemon while running", () -> me.setDaemon(true));
        });
        thread.setDaemon(true);
        thread.start();
        Kit.join(thread);
        Kit.sayThrown("priority 11", () -> Thread.currentThread().setPriority(11));
        Thread daemonsChild = Kit.daemon("daemon", () -> say("inherits daemon: %s", new Thread(() -> { }).isDaemon()));
        Kit.join(daemonsChild);
        say("%s", thread.toString().replaceAll("#\\d+,?", ""));
    }
}
