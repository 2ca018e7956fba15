package wisp.it.cases.names;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.concurrent.atomic.AtomicInteger;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Host names resolve, or do not, the same from many tasks at once. */
@WispCase(smoke = true, flags = "-Dsun.net.inetaddr.ttl=0", timeoutSeconds = 120)
public final class Lookups {
    public static void main(String[] args) throws Exception {
        AtomicInteger unknown = new AtomicInteger();
        Kit.together(16, "asking", () -> {
            for (int i = 0; i < 5; i++) {
                check("loopback", InetAddress.getByName("localhost").isLoopbackAddress());
                check("literal", InetAddress.getByName("127.0.0.9").getHostAddress().equals("127.0.0.9"));
                check("reverse", !InetAddress.getByAddress(new byte[] {127, 0, 0, 1}).getCanonicalHostName().isEmpty());
                check("own name", InetAddress.getLocalHost() != null);
            }
            try {
                InetAddress.getByName(Thread.currentThread().getName() + ".wisp.invalid");
            } catch (UnknownHostException expected) {
                unknown.incrementAndGet();
            }
        });
        say("unknown %d", unknown.get());
    }
}
