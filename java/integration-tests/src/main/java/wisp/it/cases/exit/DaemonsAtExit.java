package wisp.it.cases.exit;

import static wisp.it.Kit.say;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.CountDownLatch;
import wisp.it.Kit;
import wisp.it.WispCase;

/** main returns while daemons spin, park, wait, sleep and read: the JVM ends at once. */
@WispCase(smoke = true, timeoutSeconds = 30)
public final class DaemonsAtExit {
    private static volatile long counter;

    public static void main(String[] args) throws Exception {
        Object monitor = new Object();
        ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        Kit.daemon("spinning", () -> {
            while (true) {
                counter++;
            }
        });
        Kit.daemon("parked", () -> new CountDownLatch(1).await());
        Kit.daemon("sleeping", () -> Thread.sleep(1_000_000));
        Kit.daemon("waiting", () -> {
            synchronized (monitor) {
                monitor.wait();
            }
        });
        Kit.daemon("accepting", socket::accept);
        Kit.daemon("yielding", () -> {
            while (true) {
                Thread.yield();
            }
        });
        Kit.await("it spins", () -> counter > 1_000);
        say("main returns");
    }
}
