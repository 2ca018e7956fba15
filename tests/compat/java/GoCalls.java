import java.io.DataInputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;

/** Java threads that call into a Go library, by turns with what raises signals and what waits. Arguments: the two libraries. */
public class GoCalls {
    static native String load(String path);
    static native long sum(long n);
    static native long deep(long n);
    static native long nil();
    static native long serve();
    static native void sleep(long us);
    static native void collect();

    static Object nothing;
    static final Object LOCK = new Object();
    static final AtomicInteger bad = new AtomicInteger();

    static void expect(boolean right) {
        if (!right) {
            bad.incrementAndGet();
        }
    }

    static int depth(int n) {
        return n == 0 ? 0 : 1 + depth(n - 1);
    }

    static void nullPointers(int n) {
        for (int i = 0; i < n; i++) {
            try {
                nothing.hashCode();
                expect(false);
            } catch (NullPointerException expected) {
                // the JVM's signal handler has made it
            }
        }
    }

    static void turn(Random random, Socket[] socket, int port, long sum) throws Exception {
        switch (random.nextInt(10)) {
            case 0: expect(sum(10_000) == sum); break;
            case 1: sleep(random.nextInt(2000)); break;
            case 2: expect(deep(1 + random.nextInt(20_000)) >= 0); break;
            case 3: expect(nil() == 42); break;
            case 4: collect(); break;
            case 5:
                if (socket[0] == null) {
                    socket[0] = new Socket(InetAddress.getLoopbackAddress(), port);
                }
                byte[] sent = new byte[1000], back = new byte[1000];
                random.nextBytes(sent);
                socket[0].getOutputStream().write(sent);
                new DataInputStream(socket[0].getInputStream()).readFully(back);
                expect(Arrays.equals(sent, back));
                break;
            case 6: nullPointers(200); break;
            case 7:
                try {
                    depth(100_000_000);
                    expect(false);
                } catch (StackOverflowError expected) {
                    // the JVM's guard pages, by a signal as well
                }
                break;
            case 8:
                Thread brief = new Thread(() -> {
                    sleep(10);
                    expect(nil() == 42);
                    nullPointers(100);
                });
                brief.start();
                brief.join();
                break;
            default:
                synchronized (LOCK) {
                    LOCK.wait(1);
                }
                break;
        }
    }

    public static void main(String[] args) throws Exception {
        System.load(args[0]);
        String why = load(args[1]);
        if (why != null) {
            System.out.println(why);
            return;
        }
        int port = (int) serve();
        long sum = sum(10_000);
        AtomicInteger done = new AtomicInteger();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            int seed = i;
            Thread t = new Thread(() -> {
                try {
                    Random random = new Random(seed);
                    Socket[] socket = new Socket[1];
                    for (int k = 0; k < 100; k++) {
                        turn(random, socket, port, sum);
                    }
                    if (socket[0] != null) {
                        socket[0].close();
                    }
                    done.incrementAndGet();
                } catch (Exception e) {
                    e.printStackTrace();
                }
            });
            threads.add(t);
            t.start();
        }
        for (Thread t : threads) {
            t.join();
        }
        System.out.println("done " + done + ", wrong " + bad);
    }
}
