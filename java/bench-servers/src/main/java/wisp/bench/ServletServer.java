package wisp.bench;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.util.logging.Level;
import java.util.logging.Logger;
import javax.servlet.ServletException;
import javax.servlet.http.HttpServlet;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.apache.catalina.Context;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.startup.Tomcat;

/**
 * Embedded Tomcat 9, NIO connector, with blocking servlets: answers from memory, and answers that need a back end,
 * a service in another JVM, or a database. Prints {@code port=N}; ends when its standard input ends. Every servlet
 * compares what it got with what it must get; a difference is a status 500.
 */
public final class ServletServer {
    private static final Logger QUIET = Logger.getLogger("org.apache");

    private ServletServer() {
    }

    public static void main(String[] args) throws Exception {
        Options options = new Options(ServletServer.class).define("threads", 200).define("kind", Threads.PLATFORM)
                .define("backend", 0).define("calls", 5).define("rpc", 0).define("rpcs", 10).define("database", "")
                .define("pool", 32).parse(args);
        QUIET.setLevel(Level.SEVERE);
        Tomcat tomcat = new Tomcat();
        File folder = Files.createTempDirectory("wisp-bench").toFile();
        tomcat.setBaseDir(folder.getPath());
        Connector connector = connector(options);
        tomcat.setConnector(connector);
        Context context = tomcat.addContext("", folder.getPath());
        add(context, "hello", text("text/plain", "Hello, World!"));
        add(context, "json", text("application/json", "{\"message\":\"Hello, World!\"}"));
        int backend = options.number("backend", 0, 65535);
        if (backend != 0) {
            int calls = options.number("calls", 1, 1000);
            Pool<Backend> pool = new Pool<>(() -> new Backend(backend));
            add(context, "backend", calling(pool, calls, Backend::next));
        }
        int rpc = options.number("rpc", 0, 65535);
        if (rpc != 0) {
            int calls = options.number("rpcs", 1, 1000);
            Pool<RpcClient> pool = new Pool<>(() -> new RpcClient(rpc));
            add(context, "rpc", calling(pool, calls, RpcClient::order));
        }
        if (!options.text("database").isEmpty()) {
            Database database = new Database(options.text("database"), options.number("pool", 1, 1000));
            database.servlets().forEach((name, servlet) -> add(context, name, servlet));
        }
        tomcat.start();
        Report.value("port", connector.getLocalPort());
        while (System.in.read() >= 0) {
            // until whoever started this is gone
        }
        tomcat.stop();
        tomcat.destroy();
        System.exit(0);
    }

    private static Connector connector(Options options) {
        Connector connector = new Connector("org.apache.coyote.http11.Http11NioProtocol");
        connector.setPort(0);
        connector.setProperty("address", "127.0.0.1");
        connector.setProperty("maxThreads", String.valueOf(options.number("threads", 1, 10_000)));
        connector.setProperty("maxKeepAliveRequests", "-1");
        connector.setProperty("acceptCount", "4096");
        String kind = options.text("kind", Threads.PLATFORM, Threads.VIRTUAL);
        if (kind.equals(Threads.VIRTUAL)) {
            connector.getProtocolHandler().setExecutor(Threads.cachedPool(kind));
        }
        return connector;
    }

    private static void add(Context context, String name, HttpServlet servlet) {
        Tomcat.addServlet(context, name, servlet);
        context.addServletMappingDecoded("/" + name, name);
    }

    /** What a servlet computes; an exception is a status 500. */
    interface Answer {
        String to(HttpServletRequest request) throws Exception;
    }

    static HttpServlet servlet(String type, Answer answer) {
        return new HttpServlet() {
            @Override
            protected void doGet(HttpServletRequest request, HttpServletResponse response)
                    throws IOException, ServletException {
                String text;
                try {
                    text = answer.to(request);
                } catch (Exception e) {
                    throw new ServletException(e);
                }
                response.setContentType(type);
                response.setCharacterEncoding("UTF-8");
                response.getWriter().print(text);
            }
        };
    }

    private static HttpServlet text(String type, String text) {
        return servlet(type, request -> text);
    }

    /** One call over a connection; a wrong reply is an exception. */
    interface Call<T> {
        void over(T connection) throws IOException;
    }

    private static <T extends AutoCloseable> HttpServlet calling(Pool<T> pool, int calls, Call<T> call) {
        return servlet("text/plain", request -> {
            T connection = pool.take();
            for (int i = 0; i < calls; i++) {
                call.over(connection);
            }
            pool.give(connection); // one that failed is not given back
            return calls + " calls";
        });
    }
}
