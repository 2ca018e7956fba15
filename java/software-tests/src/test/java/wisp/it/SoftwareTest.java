package wisp.it;

/** The harness of the integration tests over this module's cases. */
class SoftwareTest extends CompatibilityTest {
}
