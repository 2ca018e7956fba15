import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Collections asked for and provoked while tasks hold references on their stacks, in thread locals, in queues
 * and in monitors they wait on; every object is checked again after it may have moved. Argument: seconds; up to a
 * minute more on a loaded machine, until there were the collections and the cleared references that are asked for.
 */
public class Collect {
    static final class Node {
        final int value;
        final Node next;
        final byte[] weight;

        Node(int value, Node next) {
            this.value = value;
            this.next = next;
            this.weight = new byte[value % 97];
        }

        static Node chain(int from, int length) {
            Node n = null;
            for (int i = length - 1; i >= 0; i--) n = new Node(from + i, n);
            return n;
        }

        void check(int from, int length) {
            Node n = this;
            for (int i = 0; i < length; i++, n = n.next)
                if (n.value != from + i || n.weight.length != (from + i) % 97)
                    throw new IllegalStateException("node " + i + " of " + from + " is " + n.value);
            if (n != null) throw new IllegalStateException("too long");
        }
    }

    static final ThreadLocal<Node> LOCAL = new ThreadLocal<>();
    static final AtomicInteger FAILED = new AtomicInteger();
    static final AtomicInteger COLLECTIONS = new AtomicInteger();
    static final AtomicInteger CLEARED = new AtomicInteger();

    static boolean enough() {
        return COLLECTIONS.get() > 3 && CLEARED.get() > 100;
    }

    interface Body { void run() throws Exception; }

    static Thread start(List<Thread> threads, long end, Body body) {
        Thread t = new Thread(() -> {
            try {
                while (true) {
                    long over = System.nanoTime() - end;
                    if (over > 60000000000L || over > 0 && enough()) break;
                    body.run();
                }
            } catch (Throwable e) {
                FAILED.incrementAndGet();
                e.printStackTrace();
            }
        });
        threads.add(t);
        t.start();
        return t;
    }

    static void deep(int depth, Node held, int from) {
        if (depth == 0) LockPause.pause();
        else deep(depth - 1, depth % 8 == 0 ? Node.chain(from, 20) : held, from);
        held.check(from, 20);
    }

    static final class LockPause {
        static void pause() {
            java.util.concurrent.locks.LockSupport.parkNanos(300000);
        }
    }

    public static void main(String[] args) throws Exception {
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1000000000L;
        List<Thread> threads = new ArrayList<>();
        BlockingQueue<Node> queue = new ArrayBlockingQueue<>(16);
        Object monitor = new Object();
        start(threads, end, () -> {
            System.gc();
            COLLECTIONS.incrementAndGet();
            Thread.sleep(20);
        });
        for (int i = 0; i < 3; i++) {  // references on stacks that are parked deep down
            int from = 1000 * i;
            start(threads, end, () -> deep(64, Node.chain(from, 20), from));
        }
        for (int i = 0; i < 2; i++) {  // handed over
            int from = 10000 * (i + 1);
            start(threads, end, () -> queue.offer(Node.chain(from, 50), 1, java.util.concurrent.TimeUnit.MILLISECONDS));
            start(threads, end, () -> {
                Node n = queue.poll(1, java.util.concurrent.TimeUnit.MILLISECONDS);
                if (n != null) n.check(n.value, 50);
            });
        }
        for (int i = 0; i < 3; i++) {  // in thread locals, over waits
            int from = 100 * i;
            start(threads, end, () -> {
                if (LOCAL.get() == null) LOCAL.set(Node.chain(from, 30));
                synchronized (monitor) {
                    monitor.wait(1);
                }
                LOCAL.get().check(from, 30);
            });
        }
        ReferenceQueue<Object> dead = new ReferenceQueue<>();
        List<WeakReference<Object>> weak = new ArrayList<>();
        start(threads, end, () -> {
            if (weak.size() < 20000) weak.add(new WeakReference<>(new byte[100], dead));
            if (dead.poll() != null) CLEARED.incrementAndGet();
        });
        Map<Integer, Node> old = new HashMap<>();
        start(threads, end, () -> {  // the old generation, rewritten
            for (int k = 0; k < 200; k++) old.put(k, Node.chain(k, 10));
            for (int k = 0; k < 200; k++) old.get(k).check(k, 10);
        });
        start(threads, end, () -> {  // stacks come and go
            Node n = Node.chain(5, 40);
            Thread t = new Thread(() -> n.check(5, 40));
            t.start();
            t.join();
        });
        for (Thread t : threads) t.join();
        System.out.println("failed " + FAILED);
        System.out.println("collected " + (COLLECTIONS.get() > 3) + ", weak ones cleared " + (CLEARED.get() > 100));
        List<String> names = new ArrayList<>();
        for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) names.add(bean.getName());
        System.out.println(names);
    }
}
