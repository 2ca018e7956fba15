package wisp.it.cases.libraries;

import java.io.File;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.concurrent.atomic.AtomicInteger;
import org.lmdbjava.ByteBufferProxy;
import org.lmdbjava.Cursor;
import org.lmdbjava.Dbi;
import org.lmdbjava.DbiFlags;
import org.lmdbjava.Env;
import org.lmdbjava.EnvFlags;
import org.lmdbjava.Txn;
import wisp.it.Kit;
import wisp.it.WispCase;

/** LMDB, called by jnr-ffi: a robust mutex shared between processes, held over waits, and a reader's slot for each thread. */
@WispCase(flags = {"11-99: --add-opens=java.base/java.nio=ALL-UNNAMED", "11-99: --add-opens=java.base/sun.nio.ch=ALL-UNNAMED"},
        timeoutSeconds = 90)
public final class LmdbThreads {
    public static void main(String[] args) throws Exception {
        File folder = Files.createTempDirectory("wisp-lmdb").toFile();
        try (Env<ByteBuffer> env = Env.create(ByteBufferProxy.PROXY_SAFE).setMapSize(64 << 20).setMaxDbs(2).setMaxReaders(64)
                .open(folder, EnvFlags.MDB_NOSYNC)) {
            Dbi<ByteBuffer> accounts = env.openDbi("accounts", DbiFlags.MDB_CREATE);
            Dbi<ByteBuffer> rows = env.openDbi("rows", DbiFlags.MDB_CREATE);
            try (Txn<ByteBuffer> txn = env.txnWrite()) {
                for (int i = 0; i < 10; i++) {
                    accounts.put(txn, number(i), number(1000));
                }
                txn.commit();
            }
            AtomicInteger numbers = new AtomicInteger();
            Kit.together(24, "client", () -> {
                int number = numbers.getAndIncrement();
                for (int i = 0; i < 40; i++) {
                    if ((number + i) % 3 == 0) {
                        read(env, accounts);
                    } else {
                        write(env, accounts, rows, number, i);
                    }
                }
            });
            try (Txn<ByteBuffer> txn = env.txnRead()) {
                Kit.say("rows: %d", rows.stat(txn).entries);
            }
            read(env, accounts);
        }
        for (File file : folder.listFiles()) {
            file.delete();
        }
        folder.delete();
    }

    private static void write(Env<ByteBuffer> env, Dbi<ByteBuffer> accounts, Dbi<ByteBuffer> rows, int number, int i)
            throws InterruptedException {
        try (Txn<ByteBuffer> txn = env.txnWrite()) {
            if (i % 5 == 0) {
                Thread.sleep(1);
            }
            add(txn, accounts, (number + i) % 10, -3);
            add(txn, accounts, (number * 3 + i) % 10, 3);
            rows.put(txn, number(number * 1000 + i), number(i));
            txn.commit();
        }
    }

    private static void add(Txn<ByteBuffer> txn, Dbi<ByteBuffer> accounts, int account, int amount) {
        long before = accounts.get(txn, number(account)).getLong(0);
        accounts.put(txn, number(account), number(before + amount));
    }

    private static void read(Env<ByteBuffer> env, Dbi<ByteBuffer> accounts) throws InterruptedException {
        long sum = 0;
        try (Txn<ByteBuffer> txn = env.txnRead(); Cursor<ByteBuffer> cursor = accounts.openCursor(txn)) {
            for (boolean more = cursor.first(); more; more = cursor.next()) {
                sum += cursor.val().getLong(0);
                Thread.sleep(0, 100_000);
            }
        }
        Kit.check("nothing is lost: " + sum, sum == 10_000);
    }

    private static ByteBuffer number(long value) {
        ByteBuffer buffer = ByteBuffer.allocateDirect(8);
        buffer.putLong(0, value);
        return buffer;
    }
}
