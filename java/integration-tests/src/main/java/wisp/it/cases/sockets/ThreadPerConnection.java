package wisp.it.cases.sockets;

import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import wisp.it.Kit;
import wisp.it.WispCase;

/**
 * 1,500 kept connections, a thread each: all echo, all closed while their threads are blocked in read, by a
 * peer or by this side in turn; the accepting thread's close as well.
 */
@WispCase(flags = "-Xss256k", carriers = {1, 2})
public final class ThreadPerConnection {
    private static final int CONNECTIONS = 1500;

    public static void main(String[] args) throws Exception {
        ServerSocket listener = new ServerSocket(0, 1000, InetAddress.getLoopbackAddress());
        AtomicReferenceArray<Socket> accepted = new AtomicReferenceArray<>(CONNECTIONS);
        AtomicInteger ends = new AtomicInteger();
        AtomicInteger exceptions = new AtomicInteger();
        Thread acceptor = Kit.start("acceptor", () -> Kit.sayThrown("accept", () -> {
            while (true) {
                Socket socket = listener.accept();
                Kit.start("server", () -> serve(socket, accepted, ends, exceptions));
            }
        }));
        Socket[] clients = new Socket[CONNECTIONS];
        for (int i = 0; i < CONNECTIONS; i++) {
            clients[i] = new Socket(listener.getInetAddress(), listener.getLocalPort());
            clients[i].setTcpNoDelay(true);
            send(clients[i], i);
        }
        for (int round = 1; round <= 3; round++) {
            for (int i = 0; i < CONNECTIONS; i++) {
                Kit.check("echo", new DataInputStream(clients[i].getInputStream()).readInt() == i + round - 1);
                send(clients[i], i + round);
            }
        }
        for (int i = 0; i < CONNECTIONS; i++) {
            Kit.check("echo", new DataInputStream(clients[i].getInputStream()).readInt() == i + 3);
        }
        Kit.say("%d connections echoed", CONNECTIONS);
        for (int i = 0; i < CONNECTIONS; i++) {
            (i % 2 == 0 ? clients[i] : accepted.get(i)).close();
        }
        Kit.await("all threads leave", () -> ends.get() + exceptions.get() == CONNECTIONS);
        Kit.say("%d ends of stream, %d exceptions", ends.get(), exceptions.get());
        listener.close();
        acceptor.join();
    }

    private static void send(Socket socket, int value) throws IOException {
        byte[] bytes = {(byte) (value >> 24), (byte) (value >> 16), (byte) (value >> 8), (byte) value};
        socket.getOutputStream().write(bytes);
    }

    private static void serve(Socket socket, AtomicReferenceArray<Socket> accepted, AtomicInteger ends,
            AtomicInteger exceptions) {
        byte[] block = new byte[4];
        boolean first = true;
        try {
            while (true) {
                int at = 0;
                while (at < 4) {
                    int n = socket.getInputStream().read(block, at, 4 - at);
                    if (n < 0) {
                        ends.incrementAndGet();
                        socket.close();
                        return;
                    }
                    at += n;
                }
                if (first) {
                    accepted.set((block[2] & 0xff) << 8 | block[3] & 0xff, socket);
                    first = false;
                }
                socket.getOutputStream().write(block);
            }
        } catch (IOException e) {
            exceptions.incrementAndGet();
        }
    }
}
