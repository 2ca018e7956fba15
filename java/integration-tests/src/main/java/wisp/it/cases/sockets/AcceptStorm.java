package wisp.it.cases.sockets;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.atomic.AtomicInteger;
import wisp.it.Kit;
import wisp.it.WispCase;

/**
 * 2,000 connects from 25 threads against a backlog of 16 and three threads in accept: each connection is accepted
 * once and answered, those too for which the backlog had no room at first (Linux drops what comes, and the client
 * asks again after a second: seen eight times a run and more).
 */
@WispCase(flags = "-Xss256k", carriers = {1, 2})
public final class AcceptStorm {
    private static final int CLIENTS = 25;
    private static final int CONNECTS = 80;
    private static final int ACCEPTORS = 3;

    public static void main(String[] args) throws Exception {
        AtomicInteger accepted = new AtomicInteger();
        AtomicInteger ended = new AtomicInteger();
        AtomicInteger answers = new AtomicInteger();
        ServerSocket listener = new ServerSocket(0, 16, InetAddress.getLoopbackAddress());
        Thread[] acceptors = new Thread[ACCEPTORS];
        for (int i = 0; i < ACCEPTORS; i++) {
            acceptors[i] = Kit.start("acceptor", () -> {
                String thrown = Kit.thrown(() -> {
                    while (true) {
                        try (Socket socket = listener.accept()) {
                            accepted.incrementAndGet();
                            socket.getInputStream().read();
                            socket.getOutputStream().write(socket.getPort());
                        }
                    }
                });
                Kit.check("accept throws " + thrown, thrown.equals("java.net.SocketException"));
                ended.incrementAndGet();
            });
        }
        Kit.together(CLIENTS, "client", () -> {
            for (int i = 0; i < CONNECTS; i++) {
                try (Socket socket = new Socket(listener.getInetAddress(), listener.getLocalPort())) {
                    socket.getOutputStream().write(1); // else one that the listener has forgotten would wait for ever
                    int answer = socket.getInputStream().read();
                    boolean right = answer == (socket.getLocalPort() & 0xff) && socket.getInputStream().read() < 0;
                    answers.addAndGet(right ? 1 : 0);
                }
            }
        });
        Kit.say("%d connects, %d accepted, %d answers right", CLIENTS * CONNECTS, accepted.get(), answers.get());
        for (Thread acceptor : acceptors) {
            Kit.check("acceptors wait for more", acceptor.isAlive());
        }
        listener.close();
        Kit.join(acceptors);
        Kit.say("%d of %d left accept when it was closed", ended.get(), ACCEPTORS);
    }
}
