package wisp.it.cases.servers;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import java.util.zip.CRC32;
import javax.net.SocketFactory;

/** A keep-alive connection of a plain blocking HTTP/1.1 client, and bytes known to both ends. */
public final class Http implements Closeable {
    private final Socket socket;
    private final InputStream in;
    int status;

    public Http(int port) throws IOException {
        this(port, SocketFactory.getDefault());
    }

    /** Over TLS with the factory of an SSLContext. */
    public Http(int port, SocketFactory sockets) throws IOException {
        socket = sockets.createSocket(InetAddress.getLoopbackAddress(), port);
        socket.setTcpNoDelay(true);
        in = new BufferedInputStream(socket.getInputStream());
    }

    public byte[] get(String path) throws IOException {
        return exchange("GET", path, new byte[0]);
    }

    public byte[] post(String path, byte[] body) throws IOException {
        return exchange("POST", path, body);
    }

    public String text(String path) throws IOException {
        return new String(get(path), StandardCharsets.UTF_8);
    }

    /** Asks, reads a little, and is gone: by reset if `reset`. */
    void abort(String path, boolean reset) throws IOException {
        socket.getOutputStream().write(("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n").getBytes());
        exactly(1000);
        if (reset) {
            socket.setSoLinger(true, 0);
        }
        socket.close();
    }

    private byte[] exchange(String method, String path, byte[] body) throws IOException {
        String length = method.equals("POST") ? "Content-Length: " + body.length + "\r\n" : "";
        byte[] head = (method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n" + length + "\r\n")
                .getBytes(StandardCharsets.US_ASCII);
        byte[] all = new byte[head.length + body.length];
        System.arraycopy(head, 0, all, 0, head.length);
        System.arraycopy(body, 0, all, head.length, body.length);
        socket.getOutputStream().write(all);
        return answer();
    }

    private byte[] answer() throws IOException {
        status = Integer.parseInt(line().split(" ")[1]);
        int length = -1;
        for (String header = line(); !header.isEmpty(); header = line()) {
            String lower = header.toLowerCase(java.util.Locale.ROOT);
            if (lower.startsWith("content-length:")) {
                length = Integer.parseInt(header.substring(15).trim());
            }
        }
        if (length >= 0) {
            return exactly(length);
        }
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (int chunk = chunkLength(); chunk > 0; chunk = chunkLength()) {
            all.write(exactly(chunk));
            line();
        }
        line();
        return all.toByteArray();
    }

    private int chunkLength() throws IOException {
        return Integer.parseInt(line(), 16);
    }

    private byte[] exactly(int length) throws IOException {
        byte[] bytes = new byte[length];
        int at = 0;
        while (at < length) {
            int n = in.read(bytes, at, length - at);
            if (n < 0) {
                throw new EOFException("after " + at + " of " + length + " bytes");
            }
            at += n;
        }
        return bytes;
    }

    private String line() throws IOException {
        StringBuilder text = new StringBuilder();
        for (int b = in.read(); b != '\n'; b = in.read()) {
            if (b < 0) {
                throw new EOFException("in a line: " + text);
            }
            if (b != '\r') {
                text.append((char) b);
            }
        }
        return text.toString();
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }

    public static byte[] bytes(long seed, int size) {
        byte[] bytes = new byte[size];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }

    public static String sum(byte[] bytes) {
        CRC32 crc = new CRC32();
        crc.update(bytes, 0, bytes.length);
        return bytes.length + " " + Long.toHexString(crc.getValue());
    }
}
