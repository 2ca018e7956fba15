package wisp.bench;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import javax.servlet.http.HttpServlet;

/**
 * Servlets over JDBC and HikariCP: one query, twenty queries, an update, twenty updates, a page made of twelve rows.
 * In table world, seed never changes; number is changed by {@code updates} only, always to a value that is the row's
 * id modulo ROWS, so that each reader can tell a number that was written to another row.
 */
final class Database {
    private static final int ROWS = 10_000;
    private static final int FORTUNES = 12;

    private final HikariDataSource pool;

    Database(String url, int connections) throws SQLException {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url);
        config.setDriverClassName("org.postgresql.Driver");
        config.setMaximumPoolSize(connections);
        pool = new HikariDataSource(config);
        try (Connection connection = pool.getConnection(); Statement make = connection.createStatement()) {
            make.execute("drop table if exists world, fortune");
            make.execute("create table world (id int primary key, seed int, touched int, number int)");
            make.execute("insert into world select i, i * 7919, 0, i from generate_series(1, " + ROWS + ") i");
            make.execute("create table fortune (id int primary key, message text)");
            make.execute("insert into fortune select i, 'A <wise> & short saying, number ' || i "
                    + "from generate_series(1, " + FORTUNES + ") i");
            make.execute("vacuum analyze");
        }
    }

    Map<String, HttpServlet> servlets() {
        Map<String, HttpServlet> all = new LinkedHashMap<>();
        all.put("query", ServletServer.servlet("text/plain", request -> queries(1)));
        all.put("queries", ServletServer.servlet("text/plain", request -> queries(20)));
        all.put("update", ServletServer.servlet("text/plain", request -> update()));
        all.put("updates", ServletServer.servlet("text/plain", request -> updates(20)));
        all.put("fortunes", ServletServer.servlet("text/html", request -> fortunes()));
        return all;
    }

    private static int anyId() {
        return 1 + ThreadLocalRandom.current().nextInt(ROWS);
    }

    private String queries(int count) throws SQLException {
        try (Connection connection = pool.getConnection();
                PreparedStatement ask = connection.prepareStatement("select seed from world where id = ?")) {
            for (int i = 0; i < count; i++) {
                int id = anyId();
                ask.setInt(1, id);
                check(ask, id);
            }
        }
        return count + " rows";
    }

    private static void check(PreparedStatement ask, int id) throws SQLException {
        try (ResultSet row = ask.executeQuery()) {
            if (!row.next() || row.getInt(1) != id * 7919) {
                throw new SQLException("row " + id + " is another one");
            }
        }
    }

    private String update() throws SQLException {
        int id = anyId();
        try (Connection connection = pool.getConnection();
                PreparedStatement ask = connection.prepareStatement("select seed from world where id = ?");
                PreparedStatement change = connection.prepareStatement(
                        "update world set touched = touched + 1 where id = ?")) {
            ask.setInt(1, id);
            check(ask, id);
            change.setInt(1, id);
            if (change.executeUpdate() != 1) {
                throw new SQLException("row " + id + " was not updated");
            }
        }
        return "1 row";
    }

    /**
     * Reads rows, each by a query of its own, gives each a new number and writes all in one batch, which is one
     * transaction. Its rows stay locked until its end: in the order of their ids, so that no two batches wait for each
     * other.
     */
    private String updates(int count) throws SQLException {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        int[] ids = random.ints(1, ROWS + 1).distinct().limit(count).sorted().toArray();
        try (Connection connection = pool.getConnection();
                PreparedStatement ask = connection.prepareStatement("select number from world where id = ?");
                PreparedStatement change = connection.prepareStatement("update world set number = ? where id = ?")) {
            for (int id : ids) {
                ask.setInt(1, id);
                try (ResultSet row = ask.executeQuery()) {
                    if (!row.next() || row.getInt(1) % ROWS != id % ROWS) {
                        throw new SQLException("row " + id + " is another one");
                    }
                }
                change.setInt(1, random.nextInt(ROWS) * ROWS + id % ROWS);
                change.setInt(2, id);
                change.addBatch();
            }
            int[] changed = change.executeBatch();
            if (changed.length != count || Arrays.stream(changed).anyMatch(rows -> rows != 1)) {
                throw new SQLException("rows updated: " + Arrays.toString(changed));
            }
        }
        return count + " rows";
    }

    private String fortunes() throws SQLException {
        List<String> all = new ArrayList<>();
        try (Connection connection = pool.getConnection();
                PreparedStatement ask = connection.prepareStatement("select message from fortune");
                ResultSet rows = ask.executeQuery()) {
            while (rows.next()) {
                all.add(rows.getString(1));
            }
        }
        if (all.size() != FORTUNES) {
            throw new SQLException(all.size() + " fortunes");
        }
        all.add("Added when the page is made");
        Collections.sort(all);
        StringBuilder page = new StringBuilder("<html><body><table>");
        for (String one : all) {
            page.append("<tr><td>").append(one.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))
                    .append("</td></tr>");
        }
        return page.append("</table></body></html>").toString();
    }
}
