package wisp.it.cases.databases;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.io.IOException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.atomic.AtomicInteger;
import javax.servlet.http.HttpServlet;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import wisp.it.Kit;
import wisp.it.WispCase;
import wisp.it.cases.servers.Container;
import wisp.it.cases.servers.Http;

/** Tomcat's servlets on a HikariCP pool smaller than the number of requests, on a PostgreSQL server. */
@WispCase(carriers = {1, 2}, timeoutSeconds = 120, requires = "/usr/lib/postgresql/*/bin/initdb")
public final class PostgresPool {
    private static HikariDataSource pool;

    public static void main(String[] args) throws Exception {
        try (Cluster cluster = new Cluster()) {
            HikariConfig config = new HikariConfig();
            config.setJdbcUrl(cluster.url);
            config.setDriverClassName("org.postgresql.Driver"); // on JDK 8, H2 spoils the search for drivers
            config.setMaximumPoolSize(8);
            config.setConnectionTimeout(300_000);
            pool = new HikariDataSource(config);
            try (Connection connection = pool.getConnection(); Statement make = connection.createStatement()) {
                Bank.create(make);
                make.execute("create table rows (n int, bytes bytea)");
            }
            serve();
            cancel();
            pool.close();
        }
    }

    private static void serve() throws Exception {
        try (Container container = new Container(30)) {
            container.add("transfer", new Transfer());
            container.add("store", new Store());
            int port = container.start();
            AtomicInteger next = new AtomicInteger();
            Kit.together(30, "client", () -> {
                int client = next.incrementAndGet();
                try (Http http = new Http(port)) {
                    for (int i = 0; i < 10; i++) {
                        Kit.check("moved", http.text("/transfer").equals("moved"));
                        byte[] body = Http.bytes(client * 100L + i, i * 5000);
                        String got = new String(http.post("/store?n=" + (client * 100 + i), body));
                        Kit.check(got, got.equals(Http.sum(body)));
                    }
                }
            });
        }
        try (Connection connection = pool.getConnection()) {
            Bank.say("postgres", connection);
        }
    }

    /** A statement that waits in the server, cancelled from another thread, and one that times out. */
    private static void cancel() throws Exception {
        try (Connection connection = pool.getConnection(); Statement slow = connection.createStatement()) {
            Thread other = Kit.start("cancel", () -> {
                try (Connection watching = pool.getConnection(); Statement watch = watching.createStatement()) {
                    while (!sleeps(watch)) {
                        Thread.sleep(20);
                    }
                }
                slow.cancel();
            });
            Kit.say("cancelled: %s", state(slow));
            Kit.join(other);
            slow.setQueryTimeout(1);
            String state = "nothing thrown";
            // The driver counts from before it sends: who loses the processor there for a second cancels nothing.
            for (int go = 0; go < 3 && state.equals("nothing thrown"); go++) {
                state = state(slow);
            }
            Kit.say("timed out: %s", state);
            try (ResultSet one = slow.executeQuery("select 1")) {
                one.next();
                Kit.say("connection still good: %d", one.getInt(1));
            }
        }
    }

    /** Whether the server runs what is to be cancelled: a cancel before it does is in vain. */
    private static boolean sleeps(Statement watch) throws SQLException {
        try (ResultSet one = watch.executeQuery("select count(*) from pg_stat_activity"
                + " where state = 'active' and pid <> pg_backend_pid() and query like 'select pg_sleep%'")) {
            one.next();
            return one.getInt(1) == 1;
        }
    }

    private static String state(Statement slow) {
        try {
            slow.execute("select pg_sleep(20)");
            return "nothing thrown";
        } catch (SQLException e) {
            return e.getSQLState();
        }
    }

    private static final class Transfer extends HttpServlet {
        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
            try (Connection connection = pool.getConnection()) {
                Bank.transfer(connection, 2);
            } catch (SQLException e) {
                throw new IOException(e);
            }
            response.getWriter().print("moved");
        }
    }

    /** Stores the body, reads it again over another connection, says its sum. */
    private static final class Store extends HttpServlet {
        @Override
        protected void doPost(HttpServletRequest request, HttpServletResponse response) throws IOException {
            byte[] body = new byte[request.getContentLength()];
            for (int at = 0, n; at < body.length; at += n) {
                n = request.getInputStream().read(body, at, body.length - at);
            }
            int number = Integer.parseInt(request.getParameter("n"));
            try (Connection connection = pool.getConnection();
                    PreparedStatement put = connection.prepareStatement("insert into rows values (?, ?)")) {
                put.setInt(1, number);
                put.setBytes(2, body);
                put.executeUpdate();
            } catch (SQLException e) {
                throw new IOException(e);
            }
            try (Connection connection = pool.getConnection();
                    PreparedStatement ask = connection.prepareStatement("select bytes from rows where n = ?")) {
                ask.setInt(1, number);
                try (ResultSet row = ask.executeQuery()) {
                    row.next();
                    response.getWriter().print(Http.sum(row.getBytes(1)));
                }
            } catch (SQLException e) {
                throw new IOException(e);
            }
        }
    }
}
