package wisp.it.cases.names;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.net.BindException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import wisp.it.Kit;
import wisp.it.WispCase;

/**
 * A name server that never answers holds up who asks, nobody else. It needs an /etc/resolv.conf of its own,
 * so the asking JVM runs in a mount namespace; where this is forbidden the case says so and is empty.
 */
@WispCase(timeoutSeconds = 90)
public final class SlowResolver {
    private static final int ASKING = 8;

    public static void main(String[] args) throws Exception {
        if (args.length != 0) {
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
            run(resolv);
        } catch (BindException e) {
            skip("port 53 of " + address + ": " + e.getMessage());
        }
    }

    private static void skip(String why) {
        System.err.println("SKIPPED: " + why);
        say("no slow resolver to be had");
    }

    private static void run(File resolv) throws Exception {
        String mount = "mount --bind " + resolv + " /etc/resolv.conf && exec \"$@\"";
        ProcessBuilder builder = Kit.again(SlowResolver.class, "ask").redirectErrorStream(true);
        builder.command().addAll(0, Arrays.asList("unshare", "-m", "sh", "-c", mount, "sh"));
        builder.environment().remove("WISP_STATS");
        Process process = builder.start();
        StringBuilder output = new StringBuilder();
        try (BufferedReader reader = new BufferedReader(new InputStreamReader(process.getInputStream()))) {
            for (String line; (line = reader.readLine()) != null;) {
                output.append(line).append('\n');
            }
        }
        int code = process.waitFor();
        if (code != 0 && !output.toString().contains("asking")) {
            skip("no mount namespace for a resolv.conf of our own: " + output);
            return;
        }
        say("%sexit code %d", output, code);
    }

    private static void ask() throws Exception {
        say("asking");
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
