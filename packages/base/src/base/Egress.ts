import type { Redacted } from "effect"

/** The operator's proxy, for a machine that has no other way out. */
export interface Egress {
  /** An http or https URL with the name and password of the proxy. It is a secret. */
  readonly proxy: Redacted.Redacted
  /** Hosts that are connected without the proxy, in the form of `allowPrivateHosts`. Loopback always is. */
  readonly direct: ReadonlyArray<string>
  /**
   * `server` looks names up here, and asks the proxy for the address that was checked. `proxy` sends it names, for a machine that cannot look
   * them up; the proxy has to refuse private addresses then.
   */
  readonly lookup: "server" | "proxy"
}
