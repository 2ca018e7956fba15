package wisp.it.cases.databases;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.atomic.AtomicInteger;
import wisp.it.Kit;
import wisp.it.WispCase;

/** The server goes while 20 threads wait for its answers and 10 for a connection: all hear of it at once. */
@WispCase(carriers = {1, 2}, timeoutSeconds = 120, requires = "/usr/lib/postgresql/*/bin/initdb")
public final class PostgresGone {
    public static void main(String[] args) throws Exception {
        HikariDataSource pool;
        Thread[] waiting = new Thread[30];
        AtomicInteger asked = new AtomicInteger();
        AtomicInteger broken = new AtomicInteger();
        AtomicInteger without = new AtomicInteger();
        long start;
        try (Cluster cluster = new Cluster()) {
            HikariConfig config = new HikariConfig();
            config.setJdbcUrl(cluster.url);
            config.setDriverClassName("org.postgresql.Driver");
            config.setMaximumPoolSize(20);
            config.setMinimumIdle(20);
            config.setConnectionTimeout(15_000); // the first 20 must have theirs within it
            pool = new HikariDataSource(config);
            for (int i = 0; i < waiting.length; i++) {
                if (i == 20) {
                    Kit.await("all ask", () -> asked.get() == 20);
                }
                waiting[i] = Kit.start("waiting", () -> ask(pool, asked, broken, without));
            }
            Thread.sleep(300);
            start = System.nanoTime();
        }
        Kit.join(waiting);
        Kit.say("%d broken, %d without connection", broken.get(), without.get());
        Kit.say("in time: %s", Kit.millisSince(start) < 60_000);
        pool.close();
        Kit.say("pool closed");
    }

    private static void ask(HikariDataSource pool, AtomicInteger asked, AtomicInteger broken, AtomicInteger without) {
        Connection connection;
        try {
            connection = pool.getConnection();
        } catch (SQLException e) {
            without.incrementAndGet();
            return;
        }
        try (Statement slow = connection.createStatement()) {
            asked.incrementAndGet();
            slow.execute("select pg_sleep(600)");
        } catch (SQLException e) {
            broken.incrementAndGet();
        }
        try {
            connection.close();
        } catch (SQLException e) {
            Kit.check("close of a broken connection: " + e, false);
        }
    }
}
