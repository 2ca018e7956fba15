package wisp.it.cases.databases;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.ThreadLocalRandom;
import wisp.it.Kit;

/** Accounts whose sum stays, and a journal with one row per transfer that was committed. */
public final class Bank {
    private static final int ACCOUNTS = 20;

    private Bank() {
    }

    public static void create(Statement make) throws SQLException {
        make.execute("create table account (id int primary key, amount int not null)");
        make.execute("create table journal (f int, t int, amount int, note varchar(200))");
        for (int i = 0; i < ACCOUNTS; i++) {
            make.execute("insert into account values (" + i + ", 1000)");
        }
    }

    /** So many transfers, each in a transaction of its own, tried again when the database says so. */
    public static void transfer(Connection connection, int times) throws SQLException {
        connection.setAutoCommit(false);
        for (int i = 0; i < times; i++) {
            int from = ThreadLocalRandom.current().nextInt(ACCOUNTS);
            int to = (from + 1 + ThreadLocalRandom.current().nextInt(ACCOUNTS - 1)) % ACCOUNTS;
            for (int tries = 0; ; tries++) {
                try {
                    move(connection, from, to, 1 + i % 7);
                    connection.commit();
                    break;
                } catch (SQLException e) {
                    connection.rollback();
                    boolean again = e.getSQLState() != null
                            && (e.getSQLState().startsWith("40") || e.getSQLState().equals("HYT00"));
                    if (!again || tries > 200) {
                        throw e;
                    }
                }
            }
        }
        connection.setAutoCommit(true);
    }

    private static void move(Connection connection, int from, int to, int amount) throws SQLException {
        add(connection, Math.min(from, to), from < to ? -amount : amount);
        add(connection, Math.max(from, to), from < to ? amount : -amount);
        try (PreparedStatement note = connection.prepareStatement("insert into journal values (?, ?, ?, ?)")) {
            note.setInt(1, from);
            note.setInt(2, to);
            note.setInt(3, amount);
            note.setString(4, note(from, to, amount));
            note.executeUpdate();
        }
    }

    private static String note(int from, int to, int amount) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 12; i++) {
            text.append(from).append('>').append(to).append('=').append(amount).append(' ');
        }
        return text.toString();
    }

    private static void add(Connection connection, int account, int amount) throws SQLException {
        try (PreparedStatement change =
                connection.prepareStatement("update account set amount = amount + ? where id = ?")) {
            change.setInt(1, amount);
            change.setInt(2, account);
            Kit.check("one account changes", change.executeUpdate() == 1);
        }
    }

    /** The sum, the number of transfers, and each balance and note against the journal. */
    public static void say(String what, Connection connection) throws SQLException {
        int[] balance = new int[ACCOUNTS];
        int transfers = 0;
        int sum = 0;
        try (Statement ask = connection.createStatement();
                ResultSet rows = ask.executeQuery("select f, t, amount, note from journal")) {
            while (rows.next()) {
                transfers++;
                int amount = rows.getInt(3);
                balance[rows.getInt(1)] -= amount;
                balance[rows.getInt(2)] += amount;
                Kit.check("note", rows.getString(4).equals(note(rows.getInt(1), rows.getInt(2), amount)));
            }
        }
        try (Statement ask = connection.createStatement();
                ResultSet rows = ask.executeQuery("select id, amount from account")) {
            while (rows.next()) {
                sum += rows.getInt(2);
                Kit.check("balance", rows.getInt(2) == 1000 + balance[rows.getInt(1)]);
            }
        }
        Kit.say("%s: %d transfers, sum %d", what, transfers, sum);
    }
}
