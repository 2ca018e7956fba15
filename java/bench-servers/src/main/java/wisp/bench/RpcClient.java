package wisp.bench;

import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;

/** A blocking connection to an {@link RpcServer}; each call waits for its reply. */
final class RpcClient implements AutoCloseable {
    private final Socket socket;
    private final DataInputStream in;
    private final DataOutputStream out;
    private long id;

    RpcClient(int port) throws IOException {
        socket = new Socket(InetAddress.getLoopbackAddress(), port);
        socket.setTcpNoDelay(true);
        in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
        out = new DataOutputStream(new BufferedOutputStream(socket.getOutputStream()));
        id = (long) socket.getLocalPort() << 32;
    }

    void order() throws IOException {
        String item = "item-" + (id & 0xfff);
        int quantity = (int) (id % 100);
        out.writeLong(++id);
        out.writeUTF(item);
        out.writeInt(quantity);
        out.flush();
        long answered = in.readLong();
        long total = in.readLong();
        String text = in.readUTF();
        if (answered != id || total != RpcServer.price(item) * quantity || !text.equals(item)) {
            throw new IOException("asked " + id + ": " + quantity + " of " + item + ", got " + answered + ": " + total);
        }
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
