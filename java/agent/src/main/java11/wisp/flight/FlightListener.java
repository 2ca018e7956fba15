package wisp.flight;

import jdk.jfr.FlightRecorderListener;
import jdk.jfr.Recording;

/** Told when a recording starts or ends. */
final class FlightListener implements FlightRecorderListener {
    @Override
    public void recordingStateChanged(Recording recording) {
        Flight.settingsChanged();
    }
}
