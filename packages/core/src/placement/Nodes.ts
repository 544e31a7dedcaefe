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
  /** The release of the process that holds the node, or held it last. */
  readonly release: string
}

/** The figures that a node tells of itself with each renewal of its lease. */
export interface NodeReport {
  /** The providers whose agents are installed. */
  readonly providers: ReadonlyArray<string>
  /** The attempts that run. */
  readonly load: number
}

/** The sources of these figures. */
export type ReportSources = { readonly [K in keyof NodeReport]: Effect.Effect<NodeReport[K]> }

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
    /** The work of this node. One machine does all. */
    readonly role: NodeRole
    /** The node that is alive under a name. The answer may be as old as a renewal: a wrong one ends in a refused write, never in a wrong one. */
    readonly locate: (node: string) => Effect.Effect<Located>
    /** Every node that was not forgotten, by name. Empty on one machine. */
    readonly list: Effect.Effect<ReadonlyArray<NodeView>>
    /** True while the operator wants the node to give its sessions away and take no new ones. */
    readonly isDraining: () => boolean
    /** True while this process may still act for its node: its monotonic clock is before the end of the last renewal less a margin. */
    readonly holds: () => boolean
    /**
     * Runs the effect when the node can no longer renew its lease, before another process may begin with its sessions: what acts for the node is
     * ended there. It is taken back with the scope.
     */
    readonly onLost: (end: Effect.Effect<void>) => Effect.Effect<void, never, Scope.Scope>
    /**
     * Says, now and whenever the lease was taken or renewed, in how many milliseconds at the latest everything has to have ended that acts for the
     * node. That is later than the moment at which this process ends it, and before another one may begin.
     */
    readonly onHeld: (hear: (leftMs: number) => void) => Effect.Effect<void, never, Scope.Scope>
    /** Takes sources of what the node tells of itself. */
    readonly tell: (sources: Partial<ReportSources>) => Effect.Effect<void>
  }
>() {
  /** One machine: everything is here, for as long as the process lives. */
  static readonly layerSingle = Layer.succeed(
    Nodes,
    Nodes.of({
      self: null,
      role: "all",
      locate: () => Effect.succeed({ kind: "self" }),
      list: Effect.succeed([]),
      isDraining: () => false,
      holds: () => true,
      onLost: () => Effect.void,
      onHeld: () => Effect.void,
      tell: () => Effect.void
    })
  )
}
