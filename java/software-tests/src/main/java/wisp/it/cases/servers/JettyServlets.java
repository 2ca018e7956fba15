package wisp.it.cases.servers;

import javax.servlet.http.HttpServlet;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;
import org.eclipse.jetty.util.thread.QueuedThreadPool;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Jetty 9.4: the blocking servlets, with a slow reader's back pressure; started and stopped twice. */
@WispCase(carriers = {1, 2}, timeoutSeconds = 90)
public final class JettyServlets {
    public static void main(String[] args) throws Exception {
        for (int round = 0; round < 2; round++) {
            Server server = new Server(new QueuedThreadPool(40));
            ServerConnector connector = new ServerConnector(server);
            connector.setHost("127.0.0.1");
            connector.setIdleTimeout(600_000); // a client may be held up
            server.addConnector(connector);
            ServletContextHandler context = new ServletContextHandler();
            context.setContextPath("/");
            add(context, "hello", new Servlets.Hello());
            add(context, "slow", new Servlets.Slow());
            add(context, "large", new Servlets.Large());
            add(context, "sum", new Servlets.Sum());
            server.setHandler(context);
            server.start();
            Servlets.drive(connector.getLocalPort(), 60, 40);
            server.stop();
            server.join();
            Kit.say("stopped");
        }
    }

    private static void add(ServletContextHandler context, String name, HttpServlet servlet) {
        context.addServlet(new ServletHolder(servlet), "/" + name);
    }
}
