package wisp.it.cases.net;

import java.net.ProtocolFamily;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;

import wisp.it.Kit;
import wisp.it.WispCase;

/** Channels of Unix domain sockets (JDK 16): many echoes, close and interrupt of a blocked accept and read. */
@WispCase(minJdk = 17)
public final class UnixDomain {
    private static final int CLIENTS = 8, TURNS = 200;

    public static void main(String[] args) throws Exception {
        Path folder = Files.createTempDirectory("wisp");
        Path file = folder.resolve("socket");
        // By name: this is compiled for Java 8.
        SocketAddress address = (SocketAddress) Class.forName("java.net.UnixDomainSocketAddress")
                .getMethod("of", Path.class).invoke(null, file);
        ProtocolFamily unix = StandardProtocolFamily.valueOf("UNIX");
        ServerSocketChannel listener = (ServerSocketChannel) ServerSocketChannel.class
                .getMethod("open", ProtocolFamily.class).invoke(null, unix);
        listener.bind(address);
        Thread server = Kit.start("server", () -> {
            for (int i = 0; i < CLIENTS; i++) {
                SocketChannel channel = listener.accept();
                Kit.start("echo-" + i, () -> echo(channel));
            }
            Kit.sayThrown("accept", listener::accept);
        });
        AtomicInteger right = new AtomicInteger();
        AtomicInteger number = new AtomicInteger();
        Kit.together(CLIENTS, "client", () -> {
            int seed = number.getAndIncrement();
            try (SocketChannel channel = SocketChannel.open(address)) {
                ByteBuffer buffer = ByteBuffer.allocate(1000);
                for (int turn = 0; turn < TURNS; turn++) {
                    byte[] message = Net.bytes(seed + turn, 1 + turn * 4);
                    ByteBuffer out = ByteBuffer.wrap(message);
                    while (out.hasRemaining()) {
                        channel.write(out);
                    }
                    buffer.clear().limit(message.length);
                    while (buffer.hasRemaining()) {
                        if (channel.read(buffer) < 0) {
                            throw new AssertionError("end of stream");
                        }
                    }
                    buffer.flip();
                    if (buffer.equals(ByteBuffer.wrap(message))) {
                        right.incrementAndGet();
                    }
                }
            }
        });
        Kit.say("%d of %d echoes", right.get(), CLIENTS * TURNS);
        Kit.awaitNative(server);
        listener.close(); // while it waits in accept
        Kit.join(server);

        Files.delete(file);
        ServerSocketChannel second = (ServerSocketChannel) ServerSocketChannel.class
                .getMethod("open", ProtocolFamily.class).invoke(null, unix);
        second.bind(address);
        SocketChannel client = SocketChannel.open(address);
        SocketChannel accepted = second.accept();
        Thread reader = Kit.start("reader", () -> Kit.sayThrown("read", () -> client.read(ByteBuffer.allocate(1))));
        Kit.awaitNative(reader);
        reader.interrupt();
        Kit.join(reader);
        Kit.say("its other end reads %d", accepted.read(ByteBuffer.allocate(1)));
        accepted.close();
        second.close();
        Files.delete(file);
        Files.delete(folder);
    }

    private static void echo(SocketChannel channel) throws Exception {
        try (SocketChannel own = channel) {
            ByteBuffer buffer = ByteBuffer.allocateDirect(300); // smaller than the messages
            while (own.read(buffer) >= 0) {
                buffer.flip();
                while (buffer.hasRemaining()) {
                    own.write(buffer);
                }
                buffer.clear();
            }
        }
    }
}
