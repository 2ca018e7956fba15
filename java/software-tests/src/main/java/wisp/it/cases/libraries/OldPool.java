package wisp.it.cases.libraries;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import org.apache.commons.dbcp.BasicDataSource;
import wisp.it.Kit;
import wisp.it.WispCase;
import wisp.it.cases.databases.Bank;

/** commons-dbcp 1.4 (2010; synchronized throughout) over H2: more threads than connections. */
@WispCase(carriers = {1, 2}, minJdk = 11, timeoutSeconds = 90)
public final class OldPool {
    public static void main(String[] args) throws Exception {
        BasicDataSource pool = new BasicDataSource();
        pool.setDriverClassName("org.h2.Driver");
        pool.setUrl("jdbc:h2:mem:old;DB_CLOSE_DELAY=-1");
        pool.setMaxActive(6);
        pool.setMaxWait(300_000);
        pool.setTestOnBorrow(true);
        pool.setValidationQuery("select 1");
        pool.setTimeBetweenEvictionRunsMillis(20);
        pool.setMinEvictableIdleTimeMillis(10);
        try (Connection connection = pool.getConnection(); Statement make = connection.createStatement()) {
            Bank.create(make);
        }
        Kit.together(40, "client", () -> {
            for (int i = 0; i < 25; i++) {
                try (Connection connection = pool.getConnection()) {
                    Bank.transfer(connection, 1);
                }
            }
        });
        try (Connection connection = pool.getConnection()) {
            Bank.say("pool", connection);
        }
        exhausted(pool);
        Kit.say("active %d", pool.getNumActive());
        pool.close();
    }

    private static void exhausted(BasicDataSource pool) throws SQLException {
        pool.setMaxWait(100);
        Connection[] all = new Connection[6];
        for (int i = 0; i < all.length; i++) {
            all[i] = pool.getConnection();
        }
        Kit.sayThrown("one more", pool::getConnection);
        for (Connection connection : all) {
            connection.close();
        }
    }
}
