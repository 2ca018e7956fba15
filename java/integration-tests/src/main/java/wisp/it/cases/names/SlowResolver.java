package wisp.it.cases.names;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import java.io.File;
import java.net.BindException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import wisp.it.Kit;
import wisp.it.Namespace;
import wisp.it.WispCase;

/**
 * A name server that never answers holds up who asks, nobody else. It needs an /etc/resolv.conf of its own,
 * so the asking JVM runs in a mount namespace; where this is forbidden the case is skipped.
 */
@WispCase(requires = "/usr/bin/unshare", timeoutSeconds = 90)
public final class SlowResolver {
    private static final int ASKING = 8;

    public static void main(String[] args) throws Exception {
        if (Namespace.isInside(args)) {
            ask();
            return;
        }
        File resolv = File.createTempFile("resolv", ".conf");
        resolv.deleteOnExit();
        // An address of its own: other runs of this case may be under way.
        int number = new Random().nextInt(0xffff);
        String address = "127.77." + (number >> 8) + "." + (1 + number % 254);
        try (DatagramSocket silent = new DatagramSocket(53, InetAddress.getByName(address))) {
            // Bound, and never read: the kernel takes the questions, nobody answers.
            Files.write(resolv.toPath(), ("nameserver " + address + "\noptions timeout:1 attempts:2\n").getBytes("US-ASCII"));
            check("bound", silent.isBound());
            Namespace.run(SlowResolver.class, "mount namespace", "-m", "mount --bind " + resolv + " /etc/resolv.conf");
        } catch (BindException e) {
            Kit.skip("port 53 of " + address + ": " + e.getMessage());
        }
    }

    private static void ask() throws Exception {
        AtomicInteger unknown = new AtomicInteger();
        AtomicLong millis = new AtomicLong();
        Kit.besideTicker(50, () -> {
            unknown.set(0);
            long start = System.nanoTime();
            Kit.together(ASKING, "asking", () -> {
                try {
                    InetAddress.getByName(Thread.currentThread().getName() + ".example");
                } catch (UnknownHostException expected) {
                    unknown.incrementAndGet();
                }
            });
            millis.set(Kit.millisSince(start));
        });
        check("asked one after the other: " + millis + " ms", millis.get() < 12_000);
        say("unknown %d; a second or more: %s", unknown.get(), millis.get() >= 900);
    }
}
