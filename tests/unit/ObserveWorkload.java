import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.locks.LockSupport;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import javax.management.openmbean.CompositeData;

/** Threads in every state that the commands show. Ends when stdin ends. */
public final class ObserveWorkload {
    static volatile int sink;
    static Socket peer;

    public static void main(String[] args) throws Exception {
        String mode = args.length > 0 ? args[0] : "all";
        if (mode.equals("jmx")) {
            jmx();
            return;
        }
        if (mode.equals("pool")) {
            pool();
            return;
        }
        start("parked-one", LockSupport::park);
        Object lock = new Object();
        CountDownLatch held = new CountDownLatch(1);
        start("holder", () -> {
            synchronized (lock) {
                held.countDown();
                sleep();
            }
        });
        held.await();
        start("blocked", () -> {
            synchronized (lock) {
                sink++;
            }
        });
        start("waiter", () -> {
            try {
                Object own = new Object();
                synchronized (own) {
                    own.wait();
                }
            } catch (InterruptedException e) {
                sink++;
            }
        });
        ServerSocket server = new ServerSocket(0);
        start("acceptor", () -> {
            try {
                server.accept();
            } catch (Exception e) {
                sink++;
            }
        });
        ServerSocket quiet = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"));
        Socket client = new Socket("127.0.0.1", quiet.getLocalPort());
        peer = quiet.accept();
        start("reader", () -> {
            try {
                client.getInputStream().read();
            } catch (Exception e) {
                sink++;
            }
        });
        System.out.println("listens " + server.getLocalPort() + ", peer " + quiet.getLocalPort());
        LinkedBlockingQueue<Integer> there = new LinkedBlockingQueue<>();
        LinkedBlockingQueue<Integer> back = new LinkedBlockingQueue<>();
        start("pong", () -> pass(there, back));
        start("ping", () -> {
            there.add(1);
            pass(back, there);
        });
        if (mode.equals("stuck")) {
            start("no-safepoint", ObserveWorkload::neverPolls);
        }
        if (mode.equals("jmx-tasks")) {
            jmxTasks();
            return;
        }
        System.out.println("ready");
        InputStream in = System.in;
        while (in.read() >= 0) {
            sink++;
        }
        Runtime.getRuntime().halt(0);
    }

    /** With -XX:-UseCountedLoopSafepoints and compiled, each long spin holds up every safepoint for seconds. */
    private static void neverPolls() {
        for (int i = 0; i < 100_000; i++) {
            spin(100 + i % 3);
        }
        while (true) {
            spin(Integer.MAX_VALUE);
        }
    }

    private static void spin(int times) {
        int x = sink | 1;
        for (int i = 0; i < times; i++) {
            x = 1_000_003 / (x | 1) + i;
        }
        sink = x;
    }

    private static void jmx() throws Exception {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        ObjectName name = new ObjectName("com.alibaba.management:type=WispCounter");
        Thread.sleep(50);
        for (MBeanAttributeInfo attribute : server.getMBeanInfo(name).getAttributes()) {
            Object value = server.getAttribute(name, attribute.getName());
            System.out.println(attribute.getName() + "="
                    + (value instanceof Object[] ? java.util.Arrays.toString((Object[]) value) : value));
        }
        CompositeData[] tasks = (CompositeData[]) server.invoke(name, "listTasks", new Object[0], new String[0]);
        for (CompositeData task : tasks) {
            System.out.println("task=" + task.get("id") + " " + task.get("name") + " " + task.get("state"));
        }
        CompositeData data = (CompositeData) server.invoke(name, "getWispCounterData", new Object[] {0L},
                new String[] {"long"});
        System.out.println("parks=" + data.get("parkCount"));
        System.out.println("none=" + server.invoke(name, "getWispCounterData", new Object[] {-1L},
                new String[] {"long"}));
    }

    /** Every item of every task's data, as soon as the threads that wait are there and the others play. */
    private static void jmxTasks() throws Exception {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        ObjectName name = new ObjectName("com.alibaba.management:type=WispCounter");
        for (int i = 0; i < 600; i++) {
            StringBuilder text = new StringBuilder();
            boolean peer = false;
            boolean own = false;
            boolean sleeps = false;
            boolean plays = false;
            for (CompositeData task : (CompositeData[]) server.invoke(name, "listTasks", new Object[0],
                    new String[0])) {
                text.append("task:");
                for (String key : task.getCompositeType().keySet()) {
                    text.append(' ').append(key).append('=').append(task.get(key));
                }
                text.append('\n');
                peer |= "reader".equals(task.get("name")) && task.get("waitPeer") != null;
                own |= "acceptor".equals(task.get("name")) && task.get("waitOwnAddress") != null;
                sleeps |= "holder".equals(task.get("name")) && number(task, "timeLeft") > 0;
                plays |= "ping".equals(task.get("name")) && number(task, "activeCount") > 0
                        && number(task, "cpuTime") > 0 && number(task, "carrier") >= 0;
            }
            if (peer && own && sleeps && plays || i == 599) {
                System.out.print(text);
                Runtime.getRuntime().halt(0);
            }
            Thread.sleep(50);
        }
    }

    private static long number(CompositeData task, String key) {
        return ((Number) task.get(key)).longValue();
    }

    /** For three seconds: an idle pool gets a task in six parts each 2 ms, and garbage is collected each 50 ms. */
    private static void pool() throws Exception {
        int[] threads = {0};
        ExecutorService pool = Executors.newFixedThreadPool(3, run -> new Thread(run, "tree-" + ++threads[0]));
        long end = System.nanoTime() + 3_000_000_000L;
        long collected = System.nanoTime();
        int collections = 0;
        int operations = 0;
        long nanos = 0;
        while (System.nanoTime() < end) {
            LockSupport.parkNanos(2_000_000);
            long begin = System.nanoTime();
            CountDownLatch done = new CountDownLatch(6);
            for (int i = 0; i < 6; i++) {
                pool.execute(() -> {
                    spin(5_000);
                    done.countDown();
                });
            }
            done.await();
            nanos += System.nanoTime() - begin;
            operations++;
            if (System.nanoTime() - collected > 50_000_000) {
                System.gc();
                collections++;
                collected = System.nanoTime();
            }
        }
        pool.shutdown();
        System.out.println("collections " + collections + " operations " + operations + " each "
                + nanos / operations / 1000 + " us");
    }

    private static void pass(LinkedBlockingQueue<Integer> from, LinkedBlockingQueue<Integer> to) {
        try {
            while (true) {
                to.put(from.take());
            }
        } catch (InterruptedException e) {
            sink++;
        }
    }

    private static void sleep() {
        try {
            Thread.sleep(1_000_000);
        } catch (InterruptedException e) {
            sink++;
        }
    }

    private static void start(String name, Runnable run) {
        Thread thread = new Thread(run, name);
        thread.setDaemon(true);
        thread.start();
    }
}
