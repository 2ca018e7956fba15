package wisp.it.cases.servers;

import java.io.IOException;
import java.io.InputStream;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;
import javax.servlet.http.HttpServlet;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import wisp.it.Kit;

/** Blocking servlets for any container, and the clients that check each byte of their answers. */
final class Servlets {
    private Servlets() {
    }

    /** Short answer. */
    static final class Hello extends HttpServlet {
        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
            response.getWriter().print("hello " + request.getParameter("n"));
        }
    }

    /** Blocks as one that calls a back end does; for how long the request may say. */
    static final class Slow extends HttpServlet {
        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
            try {
                String millis = request.getParameter("ms");
                Thread.sleep(millis != null ? Long.parseLong(millis) : 15);
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
            response.getWriter().print("slow " + request.getParameter("n"));
        }
    }

    /** Streams an answer larger than all buffers, unless asked for less. */
    static final class Large extends HttpServlet {
        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
            int size = Integer.parseInt(request.getParameter("size"));
            byte[] all = Http.bytes(size, size);
            for (int at = 0; at < size; at += 10_000) {
                response.getOutputStream().write(all, at, Math.min(10_000, size - at));
            }
        }
    }

    /** Reads the whole body, then says its check sum. */
    static final class Sum extends HttpServlet {
        @Override
        protected void doPost(HttpServletRequest request, HttpServletResponse response) throws IOException {
            byte[] body = new byte[request.getContentLength()];
            InputStream in = request.getInputStream();
            for (int at = 0, n; at < body.length; at += n) {
                n = in.read(body, at, body.length - at);
                Kit.check("the body is whole", n > 0);
            }
            response.getWriter().print(Http.sum(body));
        }
    }

    /** So many clients, each with one kept connection and its own sequence of requests. */
    static void drive(int port, int clients, int requests) throws InterruptedException {
        drive(() -> new Http(port), clients, requests);
    }

    static void drive(Callable<Http> connect, int clients, int requests) throws InterruptedException {
        AtomicInteger next = new AtomicInteger();
        AtomicInteger done = new AtomicInteger();
        Kit.together(clients, "client", () -> {
            int client = next.incrementAndGet();
            Random random = new Random(client);
            try (Http http = connect.call()) {
                for (int i = 0; i < requests; i++) {
                    request(http, random, client * 1000 + i);
                    Kit.check("status 200", http.status == 200);
                    done.incrementAndGet();
                }
            }
        });
        Kit.say("%d clients, %d answers right", clients, done.get());
    }

    private static void request(Http http, Random random, int n) throws IOException {
        switch (random.nextInt(8)) {
            case 0:
                int size = 1 + random.nextInt(300_000);
                same(Http.sum(http.get("/large?size=" + size)), Http.sum(Http.bytes(size, size)));
                break;
            case 1:
                byte[] body = Http.bytes(n, random.nextInt(200_000));
                same(new String(http.post("/sum", body)), Http.sum(body));
                break;
            case 2:
                same(http.text("/slow?n=" + n), "slow " + n);
                break;
            default:
                same(http.text("/hello?n=" + n), "hello " + n);
        }
    }

    private static void same(String got, String wanted) {
        Kit.check("'" + got + "' is '" + wanted + "'", got.equals(wanted));
    }
}
