package wisp.it.cases.servers;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import wisp.it.Kit;
import wisp.it.WispCase;

/** SSLSocket alone, a thread at each end: both directions at once, and closes under blocked reads and handshakes. */
@WispCase(carriers = {1, 2}, timeoutSeconds = 120)
public final class TlsSockets {
    private static final int WAITING = 10;

    public static void main(String[] args) throws Exception {
        try (Certificate certificate = new Certificate()) {
            SSLContext context = certificate.context();
            duplex(context);
            closed(context);
            handshake(context);
            timeout(context);
        }
    }

    private static SSLServerSocket listen(SSLContext context) throws IOException {
        return (SSLServerSocket) context.getServerSocketFactory()
                .createServerSocket(0, 200, InetAddress.getLoopbackAddress());
    }

    private static Socket connect(SSLContext context, int port) throws IOException {
        return context.getSocketFactory().createSocket(InetAddress.getLoopbackAddress(), port);
    }

    /** Echo of more than all buffers hold: one thread writes while another reads the same socket. */
    private static void duplex(SSLContext context) throws Exception {
        int clients = 10;
        SSLServerSocket listener = listen(context);
        Thread acceptor = Kit.start("acceptor", () -> {
            List<Thread> echoes = new ArrayList<>();
            for (int i = 0; i < clients; i++) {
                Socket socket = listener.accept();
                echoes.add(Kit.start("echo-" + i, () -> {
                    try (InputStream in = socket.getInputStream(); OutputStream out = socket.getOutputStream()) {
                        byte[] part = new byte[10_000];
                        for (int n = in.read(part); n >= 0; n = in.read(part)) {
                            out.write(part, 0, n);
                        }
                    }
                }));
            }
            Kit.join(echoes.toArray(new Thread[0]));
        });
        AtomicInteger next = new AtomicInteger();
        AtomicInteger right = new AtomicInteger();
        Kit.together(clients, "client", () -> {
            byte[] all = Http.bytes(next.incrementAndGet(), 1_000_000);
            try (Socket socket = connect(context, listener.getLocalPort())) {
                Thread writer = Kit.start("writer", () -> {
                    for (int at = 0; at < all.length; at += 5000) {
                        socket.getOutputStream().write(all, at, 5000);
                    }
                });
                byte[] got = new byte[all.length];
                new DataInputStream(socket.getInputStream()).readFully(got);
                Kit.join(writer);
                Kit.check("echo", Http.sum(got).equals(Http.sum(all)));
                right.incrementAndGet();
            }
        });
        Kit.join(acceptor);
        listener.close();
        Kit.say("both directions: %d right", right.get());
    }

    /** Readers blocked on both ends: the client's own socket is closed, or its peer's. */
    private static void closed(SSLContext context) throws Exception {
        SSLServerSocket listener = listen(context);
        BlockingQueue<Socket> accepted = new LinkedBlockingQueue<>();
        Thread acceptor = Kit.start("acceptor", () -> {
            for (int i = 0; i < WAITING; i++) {
                accepted.add(listener.accept());
            }
        });
        AtomicInteger own = new AtomicInteger();
        AtomicInteger ended = new AtomicInteger();
        List<Socket> clients = new ArrayList<>();
        List<Socket> servers = new ArrayList<>();
        List<Thread> readers = new ArrayList<>();
        for (int i = 0; i < WAITING; i++) {
            Socket client = connect(context, listener.getLocalPort());
            Socket server = accepted.take();
            clients.add(client);
            servers.add(server);
            AtomicInteger shaken = new AtomicInteger();
            readers.add(Kit.start("server-" + i, () -> {
                Kit.check("its byte", server.getInputStream().read() == 7);
                server.getOutputStream().write(8);
                shaken.incrementAndGet();
                if (ends(server)) {
                    ended.incrementAndGet();
                }
            }));
            readers.add(Kit.start("client-" + i, () -> {
                client.getOutputStream().write(7);
                Kit.check("its answer", client.getInputStream().read() == 8);
                shaken.incrementAndGet();
                if (ends(client)) {
                    own.incrementAndGet();
                }
            }));
            Kit.await("both have greeted", () -> shaken.get() == 2);
        }
        for (Thread reader : readers) {
            Kit.awaitNative(reader);
        }
        for (int i = 0; i < WAITING; i++) {
            (i % 2 == 0 ? clients : servers).get(i).close();
        }
        Kit.join(acceptor);
        Kit.join(readers.toArray(new Thread[0]));
        for (int i = 0; i < WAITING; i++) {
            clients.get(i).close();
            servers.get(i).close();
        }
        listener.close();
        Kit.say("closed: %d readers of clients and %d of servers ended", own.get(), ended.get());
    }

    /** By the end of the stream or an exception: which depends on who is first. */
    private static boolean ends(Socket socket) {
        try {
            return socket.getInputStream().read() < 0;
        } catch (IOException e) {
            return true;
        }
    }

    /** Nobody answers the handshake: closed by another thread. */
    private static void handshake(SSLContext context) throws Exception {
        AtomicInteger ended = new AtomicInteger();
        try (java.net.ServerSocket silent = new java.net.ServerSocket(0, 100, InetAddress.getLoopbackAddress())) {
            List<Socket> sockets = new ArrayList<>();
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < WAITING; i++) {
                Socket socket = connect(context, silent.getLocalPort());
                sockets.add(socket);
                threads.add(Kit.start("handshake-" + i, () -> {
                    try {
                        socket.getOutputStream().write(1);
                    } catch (IOException e) {
                        ended.incrementAndGet();
                    }
                }));
            }
            for (Thread thread : threads) {
                Kit.awaitNative(thread);
            }
            for (Socket socket : sockets) {
                socket.close();
            }
            Kit.join(threads.toArray(new Thread[0]));
        }
        Kit.say("handshakes: %d ended", ended.get());
    }

    /** A read that times out may be tried again, and loses nothing. */
    private static void timeout(SSLContext context) throws Exception {
        try (SSLServerSocket listener = listen(context)) {
            BlockingQueue<Integer> go = new LinkedBlockingQueue<>();
            Thread server = Kit.start("server", () -> {
                try (Socket socket = listener.accept()) {
                    socket.getOutputStream().write(1);
                    go.take();
                    socket.getOutputStream().write(2);
                }
            });
            try (Socket socket = connect(context, listener.getLocalPort())) {
                Kit.check("first", socket.getInputStream().read() == 1);
                socket.setSoTimeout(30);
                int timeouts = 0;
                for (int got = 0; got != 2; ) {
                    try {
                        got = socket.getInputStream().read();
                    } catch (SocketTimeoutException e) {
                        if (++timeouts == 3) {
                            go.add(1);
                        }
                    }
                }
                Kit.say("timed out three times or more: %b, end %d", timeouts >= 3, socket.getInputStream().read());
            }
            Kit.join(server);
        }
    }
}
