package wisp.bench;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.ByteBuffer;

/** A connection to tests/bench/epoll_backend.c: 64 bytes out, the same back with the number in front one higher. */
final class Backend implements AutoCloseable {
    private static final int SIZE = 64;

    private final Socket socket;
    private final DataInputStream in;
    private final OutputStream out;
    private final ByteBuffer request = ByteBuffer.allocate(SIZE);
    private final ByteBuffer reply = ByteBuffer.allocate(SIZE);
    private long number;

    Backend(int port) throws IOException {
        socket = new Socket(InetAddress.getLoopbackAddress(), port);
        socket.setTcpNoDelay(true);
        in = new DataInputStream(socket.getInputStream());
        out = socket.getOutputStream();
        number = (long) socket.getLocalPort() << 32; // no two connections send the same
    }

    void next() throws IOException {
        request.putLong(0, ++number);
        request.putLong(SIZE - 8, ~number);
        out.write(request.array());
        in.readFully(reply.array());
        if (reply.getLong(0) != number + 1 || reply.getLong(SIZE - 8) != ~number) {
            throw new IOException("asked " + number + ", got " + reply.getLong(0));
        }
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
