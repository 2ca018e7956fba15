import java.awt.FlowLayout;
import java.awt.Point;
import java.awt.Robot;
import java.awt.Toolkit;
import java.awt.datatransfer.DataFlavor;
import java.awt.datatransfer.StringSelection;
import java.awt.event.InputEvent;
import java.util.concurrent.atomic.AtomicInteger;
import javax.swing.JButton;
import javax.swing.JFrame;
import javax.swing.JTextField;
import javax.swing.SwingUtilities;
import javax.swing.Timer;

/** A window with a button, pressed by a robot; AWT's threads share a connection to the X server. */
public class Desktop {
    static JFrame frame;
    static JButton button;
    static JTextField text;

    public static void main(String[] args) throws Exception {
        AtomicInteger presses = new AtomicInteger(), ticks = new AtomicInteger();
        SwingUtilities.invokeAndWait(() -> {
            frame = new JFrame("Desktop");
            button = new JButton("press");
            text = new JTextField(20);
            button.addActionListener(e -> text.setText("n" + presses.incrementAndGet()));
            frame.getContentPane().setLayout(new FlowLayout());
            frame.add(button);
            frame.add(text);
            frame.setSize(400, 200);
            frame.setLocation(50, 50);
            frame.setVisible(true);
            new Timer(10, e -> ticks.incrementAndGet()).start();
        });
        Robot robot = new Robot();
        robot.setAutoDelay(20);
        robot.waitForIdle();
        Thread.sleep(500);
        for (int i = 0; i < 3; i++) {
            Point at = button.getLocationOnScreen();
            robot.mouseMove(at.x + 10, at.y + 10);
            robot.mousePress(InputEvent.BUTTON1_MASK);
            robot.mouseRelease(InputEvent.BUTTON1_MASK);
            robot.waitForIdle();
        }
        Toolkit.getDefaultToolkit().getSystemClipboard().setContents(new StringSelection("copied"), null);
        Object copied = Toolkit.getDefaultToolkit().getSystemClipboard().getData(DataFlavor.stringFlavor);
        String[] shown = new String[1];
        SwingUtilities.invokeAndWait(() -> {
            shown[0] = text.getText();
            frame.dispose();
        });
        System.out.println(shown[0] + ", " + copied + ", ticks " + (ticks.get() > 10));
        System.exit(0);
    }
}
