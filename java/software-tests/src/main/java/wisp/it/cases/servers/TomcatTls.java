package wisp.it.cases.servers;

import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.net.URL;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocketFactory;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Tomcat 9 with JSSE: kept and short connections of blocking SSLSockets, HttpsURLConnection. */
@WispCase(carriers = {1, 2}, timeoutSeconds = 120)
public final class TomcatTls {
    public static void main(String[] args) throws Exception {
        serve("Http11NioProtocol");
    }

    static void serve(String protocol) throws Exception {
        try (Certificate certificate = new Certificate()) {
            try (Container container = new Container(40, protocol, certificate)) {
                int port = container.start();
                SSLContext context = certificate.context();
                Servlets.drive(() -> new Http(port, context.getSocketFactory()), 20, 15);
                brief(port, certificate, context);
                urls("https://127.0.0.1:" + port, context.getSocketFactory());
            }
        }
        Kit.say("%s stopped", protocol);
    }

    /** A handshake for each answer, every fourth in full, the others of a session known before. */
    private static void brief(int port, Certificate certificate, SSLContext context) throws Exception {
        AtomicInteger right = new AtomicInteger();
        Kit.together(10, "brief", () -> {
            for (int i = 0; i < 12; i++) {
                SSLContext one = i % 4 == 0 ? certificate.context() : context;
                try (Http http = new Http(port, one.getSocketFactory())) {
                    Kit.check("hello", http.text("/hello?n=" + i).equals("hello " + i));
                    right.incrementAndGet();
                }
            }
        });
        Kit.say("%d short connections right", right.get());
    }

    private static void urls(String base, SSLSocketFactory sockets) throws Exception {
        AtomicInteger next = new AtomicInteger();
        AtomicInteger right = new AtomicInteger();
        Kit.together(10, "url", () -> {
            int client = next.incrementAndGet();
            for (int i = 0; i < 6; i++) {
                int size = client * 1000 + i * 10_000;
                byte[] large = exchange(base + "/large?size=" + size, sockets, null);
                Kit.check("large", Http.sum(large).equals(Http.sum(Http.bytes(size, size))));
                byte[] body = Http.bytes(size + 1, size);
                String sum = new String(exchange(base + "/sum", sockets, body));
                Kit.check(sum, sum.equals(Http.sum(body)));
                right.addAndGet(2);
            }
        });
        Kit.say("%d of HttpsURLConnection right", right.get());
    }

    private static byte[] exchange(String url, SSLSocketFactory sockets, byte[] body) throws Exception {
        HttpsURLConnection connection = (HttpsURLConnection) new URL(url).openConnection();
        connection.setSSLSocketFactory(sockets);
        if (body != null) {
            connection.setDoOutput(true);
            connection.setFixedLengthStreamingMode(body.length);
            connection.getOutputStream().write(body);
        }
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        try (InputStream in = connection.getInputStream()) {
            byte[] part = new byte[8192];
            for (int n = in.read(part); n >= 0; n = in.read(part)) {
                all.write(part, 0, n);
            }
        }
        return all.toByteArray();
    }
}
