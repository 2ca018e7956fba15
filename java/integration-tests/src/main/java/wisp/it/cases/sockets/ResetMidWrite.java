package wisp.it.cases.sockets;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.concurrent.atomic.AtomicInteger;
import wisp.it.Kit;
import wisp.it.WispCase;

/** The peer resets while a write of this side waits for room: it fails at once, and so does each one after it. */
@WispCase(carriers = {1, 2})
public final class ResetMidWrite {
    public static void main(String[] args) throws Exception {
        for (int round = 0; round < 3; round++) {
            stream();
            channel();
        }
        many();
    }

    private static void stream() throws Exception {
        try (ServerSocket listener = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
            Socket client = new Socket(listener.getInetAddress(), listener.getLocalPort());
            Socket server = listener.accept();
            server.setSoLinger(true, 0);
            OutputStream out = client.getOutputStream();
            Thread writer = Kit.start("writer", () -> {
                expectFailure("first write", () -> fill(out));
                expectFailure("second write", () -> out.write(new byte[10]));
            });
            Kit.awaitNative(writer);
            server.close();
            long start = System.nanoTime();
            Kit.join(writer);
            Kit.check("it ends at once", Kit.millisSince(start) < 30_000);
            client.close();
        }
    }

    private static void channel() throws Exception {
        try (ServerSocketChannel listener = ServerSocketChannel.open()) {
            listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            SocketChannel client = SocketChannel.open(listener.getLocalAddress());
            SocketChannel server = listener.accept();
            server.setOption(java.net.StandardSocketOptions.SO_LINGER, 0);
            Thread writer = Kit.start("writer", () -> {
                ByteBuffer[] blocks = {ByteBuffer.allocateDirect(300_000), ByteBuffer.allocate(1000)};
                expectFailure("channel write", () -> {
                    while (true) {
                        blocks[0].clear();
                        blocks[1].clear();
                        client.write(blocks);
                    }
                });
            });
            Kit.awaitNative(writer);
            server.close();
            Kit.join(writer);
            Kit.say("channel still open: %s", client.isOpen());
            client.close();
        }
    }

    /** 60 pairs at once, both sides writing without end, half of them reset by the server's close. */
    private static void many() throws Exception {
        AtomicInteger failed = new AtomicInteger();
        try (ServerSocket listener = new ServerSocket(0, 200, InetAddress.getLoopbackAddress())) {
            Thread[] writers = new Thread[120];
            Socket[] servers = new Socket[60];
            for (int i = 0; i < 60; i++) {
                Socket client = new Socket(listener.getInetAddress(), listener.getLocalPort());
                Socket server = listener.accept();
                servers[i] = server;
                server.setSoLinger(true, 0);
                InputStream in = client.getInputStream();
                OutputStream up = client.getOutputStream();
                OutputStream down = server.getOutputStream();
                Kit.daemon("reader", () -> drain(in));
                writers[2 * i] = Kit.start("client " + i, () -> countFailure(failed, up));
                writers[2 * i + 1] = Kit.start("server " + i, () -> countFailure(failed, down));
            }
            Thread.sleep(200);
            for (Socket server : servers) {
                server.close();
            }
            Kit.join(writers);
        }
        Kit.say("%d writers failed", failed.get());
    }

    private static void drain(InputStream in) {
        byte[] block = new byte[50_000];
        try {
            while (in.read(block) >= 0) {
                Thread.yield();
            }
        } catch (IOException e) {
            // reset: as wanted
        }
    }

    private static void countFailure(AtomicInteger failed, OutputStream out) {
        try {
            fill(out);
        } catch (IOException e) {
            failed.incrementAndGet();
        }
    }

    private static void fill(OutputStream out) throws IOException {
        byte[] block = new byte[100_000];
        while (true) {
            out.write(block);
        }
    }

    /** "Connection reset" or "Broken pipe": which comes first is the kernel's affair. */
    private static void expectFailure(String what, Kit.Body body) {
        try {
            body.run();
            Kit.say("%s: nothing thrown", what);
        } catch (Exception e) {
            Kit.say("%s: %s", what, e instanceof IOException);
        }
    }
}
