package wisp.it.cases.servers;

import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.Random;

/** Ports for servers that must be told one beforehand. */
public final class Ports {
    private Ports() {
    }

    /** Below those that the kernel gives to others: it may be seconds until the server binds it. */
    public static int free() throws IOException {
        Random random = new Random();
        for (int tries = 0; ; tries++) {
            int port = 20_000 + random.nextInt(12_000);
            try (ServerSocket free = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
                return free.getLocalPort();
            } catch (BindException taken) {
                if (tries == 100) {
                    throw taken;
                }
            }
        }
    }
}
