package wisp.it.cases.libraries;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.sqlite.BusyHandler;
import org.sqlite.Function;
import org.sqlite.ProgressHandler;
import org.sqlite.SQLiteConfig;
import wisp.it.Kit;
import wisp.it.WispCase;

/** SQLite: locks of files among 20 connections, and Java called from inside a query, where it waits. */
@WispCase(timeoutSeconds = 120)
public final class SqliteThreads {
    public static void main(String[] args) throws Exception {
        Path folder = Files.createTempDirectory("wisp-sqlite");
        transfers(folder, SQLiteConfig.JournalMode.DELETE);
        transfers(folder, SQLiteConfig.JournalMode.WAL);
        cancelled();
        busy("jdbc:sqlite:" + folder.resolve("busy"));
        for (File file : folder.toFile().listFiles()) {
            file.delete();
        }
        Files.delete(folder);
    }

    private static void transfers(Path folder, SQLiteConfig.JournalMode mode) throws Exception {
        SQLiteConfig config = new SQLiteConfig();
        config.setBusyTimeout(100_000);
        config.setTransactionMode(SQLiteConfig.TransactionMode.IMMEDIATE);
        config.setSynchronous(SQLiteConfig.SynchronousMode.OFF);
        config.setJournalMode(mode);
        String url = "jdbc:sqlite:" + folder.resolve(mode.name());
        try (Connection kept = config.createConnection(url); Statement make = kept.createStatement()) {
            make.execute("create table account (id integer primary key, amount integer)");
            for (int i = 0; i < 10; i++) {
                make.execute("insert into account values (" + i + ", 1000)");
            }
            AtomicInteger numbers = new AtomicInteger();
            Kit.together(20, "client", () -> {
                int number = numbers.getAndIncrement();
                try (Connection connection = config.createConnection(url)) {
                    Function.create(connection, "slowly", new Slowly());
                    connection.setAutoCommit(false);
                    for (int i = 0; i < 20; i++) {
                        transfer(connection, (number + i) % 10, (number * 7 + i * 3 + 1) % 10);
                    }
                }
            });
            Kit.say("%s: %d", mode, number(kept, "select sum(amount) from account"));
        }
    }

    private static void transfer(Connection connection, int from, int to) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate("update account set amount = amount - 5 where id = " + from);
            statement.executeUpdate("update account set amount = amount + 5 where id = " + to);
        }
        Kit.check("nothing is lost", number(connection, "select slowly(sum(amount)) from account") == 10_000);
        connection.commit();
    }

    /** Waits while SQLite holds its locks. */
    private static final class Slowly extends Function {
        @Override
        protected void xFunc() throws SQLException {
            pause();
            result(value_int(0));
        }
    }

    private static void cancelled() throws Exception {
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite::memory:");
                Statement statement = connection.createStatement()) {
            AtomicInteger ticks = new AtomicInteger();
            ProgressHandler.setHandler(connection, 1000, new ProgressHandler() {
                @Override
                protected int progress() {
                    Thread.yield();
                    return ticks.incrementAndGet() < 0 ? 1 : 0;
                }
            });
            Thread canceller = Kit.start("canceller", () -> {
                Kit.await("it goes on", () -> ticks.get() > 50);
                statement.cancel();
            });
            try {
                statement.executeQuery("with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) from n");
            } catch (SQLException e) {
                Kit.say(e.getMessage().replace("%", ""));
            }
            Kit.join(canceller);
        }
    }

    private static void busy(String url) throws Exception {
        try (Connection holder = DriverManager.getConnection(url); Connection wanting = DriverManager.getConnection(url);
                Statement holds = holder.createStatement(); Statement wants = wanting.createStatement()) {
            holds.execute("create table x (i)");
            CountDownLatch held = new CountDownLatch(1);
            CountDownLatch tried = new CountDownLatch(1);
            Thread thread = Kit.start("holder", () -> {
                holds.execute("begin immediate");
                held.countDown();
                tried.await();
                holds.execute("insert into x values (1)");
                holds.execute("commit");
            });
            held.await();
            BusyHandler.setHandler(wanting, new BusyHandler() {
                @Override
                protected int callback(int attempt) {
                    tried.countDown();
                    pause();
                    return 1;
                }
            });
            wants.execute("insert into x values (2)");
            Kit.join(thread);
            Kit.say("busy: %d", number(wanting, "select count(*) from x"));
        }
    }

    private static void pause() {
        try {
            Thread.sleep(1);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static int number(Connection connection, String query) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet result = statement.executeQuery(query)) {
            result.next();
            return result.getInt(1);
        }
    }
}
