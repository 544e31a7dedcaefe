import { Context, Effect, Layer, type Scope } from "effect"

/** `runner` has sessions, `api` serves requests and the work that needs no files, and `all` does both. */
export type NodeRole = "api" | "runner" | "all"

/** A node as rows tell of it. */
export interface NodeView {
  readonly name: string
  /** The address at which the other nodes reach it. */
  readonly address: string
  readonly role: NodeRole
  /** `draining` takes no session any more, and `lost` has not renewed its lease. One that ended in order is `gone`. */
  readonly state: "active" | "draining" | "lost" | "gone"
  /** It grows each time another process takes the name. */
  readonly epoch: number
  /** The end of the lease, in milliseconds of the database's clock. */
  readonly expiresAt: number
  /** The providers whose agents are installed there. */
  readonly providers: ReadonlyArray<string>
  /** The attempts that ran at the last renewal. */
  readonly load: number
}

/** The place of a node: this process, an address, or nowhere because it has not renewed its lease. */
export type Located =
  | { readonly kind: "self" }
  | { readonly kind: "at"; readonly address: string; readonly bootId: string }
  | { readonly kind: "lost" }

/**
 * The machines of the installation. A node is a named slot for one machine with its data directory, and a process holds it by a lease. One machine
 * alone has no name and no lease.
 */
export class Nodes extends Context.Tag("@reins/core/placement/Nodes")<
  Nodes,
  {
    /** The name of this node. Null on one machine. */
    readonly self: string | null
    /** The node that is alive under a name. The answer may be as old as a renewal: a wrong one ends in a refused write, never in a wrong one. */
    readonly locate: (node: string) => Effect.Effect<Located>
    /** Every node that was not forgotten, by name. Empty on one machine. */
    readonly list: Effect.Effect<ReadonlyArray<NodeView>>
    /** True while this process may still act for its node: its monotonic clock is before the end of the last renewal less a margin. */
    readonly holds: () => boolean
    /**
     * Runs the effect when the node can no longer renew its lease, before another process may begin with its sessions: what acts for the node is
     * ended there. It is taken back with the scope.
     */
    readonly onLost: (end: Effect.Effect<void>) => Effect.Effect<void, never, Scope.Scope>
  }
>() {
  /** One machine: everything is here, for as long as the process lives. */
  static readonly layerSingle = Layer.succeed(
    Nodes,
    Nodes.of({
      self: null,
      locate: () => Effect.succeed({ kind: "self" }),
      list: Effect.succeed([]),
      holds: () => true,
      onLost: () => Effect.void
    })
  )
}
