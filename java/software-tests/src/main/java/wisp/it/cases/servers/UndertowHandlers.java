package wisp.it.cases.servers;

import io.undertow.Undertow;
import io.undertow.server.HttpServerExchange;
import io.undertow.server.handlers.BlockingHandler;
import io.undertow.server.handlers.PathHandler;
import java.io.InputStream;
import java.net.InetSocketAddress;
import javax.net.SocketFactory;
import javax.net.ssl.SSLContext;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Undertow 2.2 on XNIO, without and with TLS: short answers from its I/O threads, the others from its workers. */
@WispCase(carriers = {1, 2}, timeoutSeconds = 90)
public final class UndertowHandlers {
    public static void main(String[] args) throws Exception {
        try (Certificate certificate = new Certificate()) {
            serve(null);
            serve(certificate.context());
        }
    }

    private static void serve(SSLContext tls) throws Exception {
        PathHandler paths = new PathHandler().addExactPath("/hello", UndertowHandlers::hello)
                .addExactPath("/slow", new BlockingHandler(UndertowHandlers::slow))
                .addExactPath("/large", new BlockingHandler(UndertowHandlers::large))
                .addExactPath("/sum", new BlockingHandler(UndertowHandlers::sum));
        Undertow.Builder builder = Undertow.builder().setIoThreads(3).setWorkerThreads(30).setHandler(paths);
        Undertow server = (tls == null ? builder.addHttpListener(0, "127.0.0.1")
                : builder.addHttpsListener(0, "127.0.0.1", tls)).build();
        server.start();
        int port = ((InetSocketAddress) server.getListenerInfo().get(0).getAddress()).getPort();
        SocketFactory sockets = tls == null ? SocketFactory.getDefault() : tls.getSocketFactory();
        Servlets.drive(() -> new Http(port, sockets), 30, 25);
        server.stop();
        Kit.say("stopped");
    }

    private static String parameter(HttpServerExchange exchange, String name) {
        return exchange.getQueryParameters().get(name).getFirst();
    }

    private static void hello(HttpServerExchange exchange) {
        Kit.check("on an I/O thread", exchange.isInIoThread());
        exchange.getResponseSender().send("hello " + parameter(exchange, "n"));
    }

    private static void slow(HttpServerExchange exchange) throws Exception {
        Thread.sleep(15);
        exchange.getResponseSender().send("slow " + parameter(exchange, "n"));
    }

    private static void large(HttpServerExchange exchange) throws Exception {
        int size = Integer.parseInt(parameter(exchange, "size"));
        byte[] all = Http.bytes(size, size);
        for (int at = 0; at < size; at += 10_000) {
            exchange.getOutputStream().write(all, at, Math.min(10_000, size - at));
        }
    }

    private static void sum(HttpServerExchange exchange) throws Exception {
        byte[] body = new byte[(int) exchange.getRequestContentLength()];
        InputStream in = exchange.getInputStream();
        for (int at = 0, n; at < body.length; at += n) {
            n = in.read(body, at, body.length - at);
            Kit.check("the body is whole", n > 0);
        }
        exchange.getResponseSender().send(Http.sum(body));
    }
}
