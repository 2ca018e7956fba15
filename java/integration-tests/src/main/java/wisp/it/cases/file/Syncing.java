package wisp.it.cases.file;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import wisp.it.Kit;
import wisp.it.WispCase;

/** While tasks wait for the disk in force(), others go on: a ticker keeps its pace, also on one carrier. */
@WispCase
public final class Syncing {
    public static void main(String[] args) throws Exception {
        // A loaded machine may delay it much; a carrier that is held would stop it altogether.
        Kit.besideTicker(100, () -> Kit.together(16, "syncer", () -> {
            Path path = Data.file("sync", 0);
            try (FileChannel c = FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
                for (int k = 0; k < 12; k++) {
                    c.write(ByteBuffer.wrap(Data.bytes(k * 4096L, 4096)), k * 4096L);
                    c.force(k % 2 == 0);
                }
                MappedByteBuffer map = c.map(FileChannel.MapMode.READ_WRITE, 0, 12 * 4096);
                for (int k = 0; k < 6; k++) {
                    map.put(k * 8192, Data.at(k * 8192L));
                    map.force();
                }
                ByteBuffer all = ByteBuffer.allocate(12 * 4096);
                check("written", c.read(all, 0) == all.capacity());
                all.flip();
                Data.verify("written", all, 0);
            }
        }));
        say("ticked while syncing");
    }
}
