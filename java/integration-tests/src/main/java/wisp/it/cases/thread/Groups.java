package wisp.it.cases.thread;

import static wisp.it.Kit.say;

import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import wisp.it.Kit;
import wisp.it.WispCase;

/** ThreadGroups count and list the threads alive in them. */
@WispCase
public final class Groups {
    public static void main(String[] args) throws Exception {
        CountDownLatch open = new CountDownLatch(1);
        ThreadGroup parent = new ThreadGroup("parent");
        ThreadGroup child = new ThreadGroup(parent, "child");
        child.setMaxPriority(4);
        Thread[] threads = new Thread[6];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(i % 2 == 0 ? parent : child, Kit.failing(open::await), "member-" + i);
            threads[i].start();
        }
        say("active %d and %d, groups %d", parent.activeCount(), child.activeCount(), parent.activeGroupCount());
        Thread[] listed = new Thread[20];
        int count = parent.enumerate(listed);
        TreeSet<String> names = new TreeSet<>();
        for (int i = 0; i < count; i++) {
            names.add(listed[i].getName() + "/" + listed[i].getPriority());
        }
        say("%s", names);
        open.countDown();
        Kit.join(threads);
        say("active %d", parent.activeCount());
        say("group of a dead thread: %s", threads[0].getThreadGroup());
    }
}
