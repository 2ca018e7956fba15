package wisp.it.cases.net;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousServerSocketChannel;
import java.nio.channels.AsynchronousSocketChannel;
import java.nio.channels.DatagramChannel;
import java.nio.channels.FileChannel;
import java.nio.channels.Pipe;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Blocking NIO channels: scatter and gather, pipes, datagrams, transferTo, asynchronous ones, urgent data. */
@WispCase
public final class Channels {
    private static final InetSocketAddress ANY = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    private static final int SIZE = 2_500_000;

    public static void main(String[] args) throws Exception {
        try (ServerSocketChannel listener = ServerSocketChannel.open()) {
            listener.bind(ANY);
            SocketChannel client = SocketChannel.open(listener.getLocalAddress());
            SocketChannel server = listener.accept();
            scatterGather(client, server);
            transferTo(client, server);
            client.close();
            Kit.say("end: %d", server.read(ByteBuffer.allocate(1)));
            server.close();
        }
        pipe();
        datagrams();
        asynchronous();
        urgent();
        flags();
    }

    private static void scatterGather(SocketChannel client, SocketChannel server) throws Exception {
        byte[] all = Net.bytes(4, SIZE);
        Thread writer = Kit.start("writer", () -> {
            for (int at = 0; at < SIZE; ) {
                ByteBuffer[] parts = new ByteBuffer[5];
                for (int i = 0; i < parts.length; i++) {
                    int n = Math.min(SIZE - at, 1 + i * 30_000);
                    parts[i] = ByteBuffer.wrap(all, at, n);
                    at += n;
                }
                while (parts[4].hasRemaining() || parts[3].hasRemaining()) {
                    client.write(parts);
                }
            }
        });
        byte[] got = new byte[SIZE];
        for (int at = 0; at < SIZE; ) {
            ByteBuffer[] parts = {ByteBuffer.allocate(100), ByteBuffer.allocateDirect(7000), ByteBuffer.allocate(50_000)};
            long n = server.read(parts);
            Kit.check("not the end", n > 0);
            for (ByteBuffer part : parts) {
                part.flip();
                int k = part.remaining();
                part.get(got, at, k);
                at += k;
            }
        }
        Kit.join(writer);
        Kit.say("scatter and gather: %b", Arrays.equals(all, got));
    }

    private static void transferTo(SocketChannel client, SocketChannel server) throws Exception {
        File file = File.createTempFile("wisp", ".bin");
        try (FileOutputStream out = new FileOutputStream(file)) {
            out.write(Net.bytes(5, SIZE));
        }
        Thread sender = Kit.start("sender", () -> {
            try (FileChannel in = FileChannel.open(file.toPath(), StandardOpenOption.READ)) {
                for (long at = 0; at < SIZE; ) {
                    at += in.transferTo(at, SIZE - at, client);
                }
            }
        });
        ByteBuffer got = ByteBuffer.allocate(SIZE);
        Thread.sleep(50);
        fill(server, got);
        Kit.join(sender);
        Kit.say("transferTo: %b", Arrays.equals(got.array(), Net.bytes(5, SIZE)));
        Kit.check("delete", file.delete());
    }

    private static void fill(ReadableByteChannel from, ByteBuffer into) throws IOException {
        while (into.hasRemaining()) {
            Kit.check("not the end", from.read(into) > 0);
        }
    }

    private static void drain(WritableByteChannel to, ByteBuffer from) throws IOException {
        while (from.hasRemaining()) {
            to.write(from);
        }
    }

    private static void pipe() throws Exception {
        Pipe pipe = Pipe.open();
        Thread writer = Kit.start("pipe writer", () -> {
            drain(pipe.sink(), ByteBuffer.wrap(Net.bytes(6, SIZE)));
            pipe.sink().close();
        });
        ByteBuffer got = ByteBuffer.allocate(SIZE);
        Thread.sleep(50);
        fill(pipe.source(), got);
        Kit.say("pipe: %b, end %d", Arrays.equals(got.array(), Net.bytes(6, SIZE)),
                pipe.source().read(ByteBuffer.allocate(1)));
        Kit.join(writer);
    }

    private static void datagrams() throws Exception {
        try (DatagramChannel server = DatagramChannel.open().bind(ANY);
             DatagramChannel client = DatagramChannel.open().connect(server.getLocalAddress());
             DatagramSocket socket = new DatagramSocket()) {
            Thread echo = Kit.start("udp echo", () -> {
                for (int i = 0; i < 400; i++) {
                    ByteBuffer buffer = ByteBuffer.allocate(2000);
                    java.net.SocketAddress from = server.receive(buffer);
                    buffer.flip();
                    server.send(buffer, from);
                }
            });
            for (int i = 1; i < 400; i++) {
                byte[] sent = Net.bytes(i, i * 3);
                client.write(ByteBuffer.wrap(sent));
                ByteBuffer back = ByteBuffer.allocate(2000);
                int n = client.read(back);
                Kit.check("datagram " + i, Arrays.equals(sent, Arrays.copyOf(back.array(), n)));
            }
            socket.send(new DatagramPacket(new byte[9], 9, server.getLocalAddress()));
            DatagramPacket back = new DatagramPacket(new byte[20], 20);
            socket.receive(back);
            Kit.say("datagrams ok, last of %d bytes", back.getLength());
            Kit.join(echo);
        }
    }

    private static void asynchronous() throws Exception {
        try (AsynchronousServerSocketChannel listener = AsynchronousServerSocketChannel.open().bind(ANY)) {
            java.util.concurrent.Future<AsynchronousSocketChannel> accepted = listener.accept();
            AsynchronousSocketChannel client = AsynchronousSocketChannel.open();
            client.connect(listener.getLocalAddress()).get();
            AsynchronousSocketChannel server = accepted.get();
            for (int i = 1; i < 200; i++) {
                ByteBuffer out = ByteBuffer.wrap(Net.bytes(i, i * 50));
                Thread sender = Kit.start("async sender", () -> {
                    while (out.hasRemaining()) {
                        client.write(out).get();
                    }
                });
                ByteBuffer in = ByteBuffer.allocate(i * 50);
                while (in.hasRemaining()) {
                    Kit.check("async read", server.read(in).get() > 0);
                }
                Kit.check("async bytes", Arrays.equals(in.array(), Net.bytes(i, i * 50)));
                Kit.join(sender);
            }
            client.close();
            Kit.say("asynchronous ok, end %d", server.read(ByteBuffer.allocate(1)).get());
            server.close();
        }
    }

    private static void urgent() throws Exception {
        try (Net.Pair pair = new Net.Pair()) {
            pair.server.setOOBInline(true);
            for (int i = 0; i < 50; i++) {
                pair.client.getOutputStream().write(Net.bytes(i, 100));
                pair.client.sendUrgentData(i);
                pair.client.getOutputStream().write(Net.bytes(-i, 100));
                Net.receive(pair.server.getInputStream(), i, 100);
                Kit.check("urgent byte", pair.server.getInputStream().read() == i);
                Net.receive(pair.server.getInputStream(), -i, 100);
            }
        }
        Kit.say("urgent data inline ok");
        try (Net.Pair pair = new Net.Pair()) {
            for (int i = 0; i < 50; i++) {
                pair.client.getOutputStream().write(Net.bytes(i, 100));
                pair.client.sendUrgentData(i);
                pair.client.getOutputStream().write(Net.bytes(-i, 100));
                Net.receive(pair.server.getInputStream(), i, 100);
                Net.receive(pair.server.getInputStream(), -i, 100);
            }
        }
        Kit.say("urgent data aside ok");
    }

    /** Non-blocking stays non-blocking, and back again. */
    private static void flags() throws Exception {
        try (ServerSocketChannel listener = ServerSocketChannel.open()) {
            listener.bind(ANY);
            listener.configureBlocking(false);
            Kit.say("no connection: %s", listener.accept());
            SocketChannel client = SocketChannel.open(listener.getLocalAddress());
            listener.configureBlocking(true);
            SocketChannel server = listener.accept();
            server.configureBlocking(false);
            Kit.say("no bytes: %d", server.read(ByteBuffer.allocate(1)));
            server.configureBlocking(true);
            Thread writer = Kit.start("writer", () -> {
                Thread.sleep(50);
                client.write(ByteBuffer.wrap(new byte[3]));
            });
            Kit.say("blocking again: %d", server.read(ByteBuffer.allocate(10)));
            Kit.join(writer);
            server.close();
            client.close();
        }
    }
}
