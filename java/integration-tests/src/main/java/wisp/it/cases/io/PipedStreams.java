package wisp.it.cases.io;

import static wisp.it.Kit.say;

import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.util.Arrays;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Piped streams, NIO pipes and datagrams between threads. */
@WispCase
public final class PipedStreams {
    public static void main(String[] args) throws Exception {
        PipedOutputStream out = new PipedOutputStream();
        PipedInputStream in = new PipedInputStream(out, 64);
        long[] sums = new long[3];
        Thread reader = Kit.start("reader", () -> {
            for (int b = in.read(); b >= 0; b = in.read()) {
                sums[0] += b;
            }
        });
        Thread writer = Kit.start("writer", () -> {
            for (int i = 0; i < 20_000; i++) {
                out.write(i & 0xff);
            }
            out.close();
        });
        Kit.join(writer, reader);
        say("piped %d", sums[0]);

        Pipe pipe = Pipe.open();
        Thread source = Kit.start("source", () -> {
            ByteBuffer buffer = ByteBuffer.allocate(1_000);
            while (pipe.source().read(buffer) >= 0) {
                buffer.flip();
                while (buffer.hasRemaining()) {
                    sums[1] += buffer.get() & 0xff;
                }
                buffer.clear();
            }
        });
        byte[] block = new byte[100_000];
        Arrays.fill(block, (byte) 3);
        ByteBuffer all = ByteBuffer.wrap(block);
        while (all.hasRemaining()) {
            pipe.sink().write(all); // more than the kernel's buffer: blocks on the way
        }
        pipe.sink().close();
        Kit.join(source);
        say("pipe %d", sums[1]);

        try (DatagramSocket a = new DatagramSocket(0, InetAddress.getLoopbackAddress());
                DatagramSocket b = new DatagramSocket(0, InetAddress.getLoopbackAddress())) {
            Thread echo = Kit.start("echo", () -> {
                DatagramPacket packet = new DatagramPacket(new byte[10], 10);
                for (int i = 0; i < 50; i++) {
                    b.receive(packet);
                    b.send(new DatagramPacket(packet.getData(), packet.getLength(), packet.getSocketAddress()));
                }
            });
            DatagramPacket packet = new DatagramPacket(new byte[10], 10);
            for (int i = 0; i < 50; i++) {
                a.send(new DatagramPacket(new byte[] {(byte) i}, 1, b.getLocalSocketAddress()));
                a.receive(packet);
                sums[2] += packet.getData()[0];
            }
            Kit.join(echo);
            a.setSoTimeout(20);
            Kit.sayThrown("timed receive", () -> a.receive(packet));
        }
        say("datagrams %d", sums[2]);
    }
}
