package wisp.it.cases.liveness;

import static wisp.it.Kit.say;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.atomic.AtomicInteger;
import wisp.it.Kit;
import wisp.it.WispCase;

/**
 * Connections, a thread each on both sides, beside threads that compute without ever blocking and end only when the last
 * echo is there: if these kept their carriers, the case would hang. Nothing here is a time, which a busy machine could miss.
 */
@WispCase(smoke = true)
public final class EchoBesideBurners {
    private static final int CONNECTIONS = 20;
    private static final int TRIPS = 50;
    private static final int BURNERS = 6; // more than carriers

    private static volatile boolean stop;

    public static void main(String[] args) throws Exception {
        ServerSocket listener = new ServerSocket(0, CONNECTIONS, InetAddress.getLoopbackAddress());
        AtomicInteger burning = new AtomicInteger();
        AtomicInteger sums = new AtomicInteger();
        Thread[] burners = new Thread[BURNERS];
        for (int i = 0; i < BURNERS; i++) {
            burners[i] = Kit.start("burner" + i, () -> {
                burning.incrementAndGet();
                int all = 0;
                do {
                    int sum = 0;
                    for (int n = 0; n < 10_000; n++) {
                        sum += n * n;
                    }
                    all |= sum;
                } while (!stop);
                sums.addAndGet(all == 0 ? 1 : 0);
            });
        }
        Kit.await("all burn", () -> burning.get() == BURNERS); // the connections come after
        Thread acceptor = Kit.start("acceptor", () -> {
            for (int i = 0; i < CONNECTIONS; i++) {
                Socket socket = listener.accept();
                Kit.start("server" + i, () -> serve(socket));
            }
        });
        AtomicInteger echoes = new AtomicInteger();
        AtomicInteger ids = new AtomicInteger();
        Kit.together(CONNECTIONS, "client", () -> {
            try (Socket socket = new Socket(listener.getInetAddress(), listener.getLocalPort())) {
                socket.setTcpNoDelay(true);
                DataOutputStream out = new DataOutputStream(socket.getOutputStream());
                DataInputStream in = new DataInputStream(socket.getInputStream());
                int first = ids.getAndIncrement() * TRIPS;
                for (int i = first; i < first + TRIPS; i++) {
                    out.writeInt(i);
                    Kit.check("echo", in.readInt() == i);
                    echoes.incrementAndGet();
                }
            }
        });
        stop = true;
        Kit.join(burners);
        Kit.join(acceptor);
        say("%d echoes beside %d burners", echoes.get(), BURNERS);
        say("burners without a sum %d", sums.get());
    }

    private static void serve(Socket socket) throws Exception {
        byte[] buffer = new byte[64];
        try (Socket mine = socket) {
            mine.setTcpNoDelay(true);
            for (int n = mine.getInputStream().read(buffer); n >= 0; n = mine.getInputStream().read(buffer)) {
                mine.getOutputStream().write(buffer, 0, n);
            }
        }
    }
}
