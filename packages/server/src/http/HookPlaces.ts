import { ReinsError } from "@reins/base/domain/ReinsError"
import { Effect } from "effect"

// Owns how many bytes of hooks' bodies are held at once. Who calls a hook does not call again, so a call waits for its place, and is refused late.

/** The bytes that are held of all networks, and of one. A larger body is read alone. */
const mostHeld = 24 * 1024 * 1024
const mostOfNetwork = 4 * 1024 * 1024

interface Waiting {
  readonly network: string
  readonly bytes: number
  readonly enter: () => void
}

/** The places of bodies. Calls of one network enter in the order in which they came. */
export class HookPlaces {
  private held = 0
  private readonly heldOf = new Map<string, number>()
  private readonly line = new Set<Waiting>()

  /** Holds a place for so many bytes while an effect runs. Fails with `waiting_capacity` when there is none in that time. */
  hold<A, E, R>(
    { bytes, network, patienceMs }: { readonly network: string; readonly bytes: number; readonly patienceMs: number },
    use: Effect.Effect<A, E, R>
  ): Effect.Effect<A, E | ReinsError<"waiting_capacity">, R> {
    return Effect.acquireUseRelease(
      this.enter(network, bytes, patienceMs),
      () => use,
      () => Effect.sync(() => this.leave(network, bytes))
    )
  }

  // A timer that takes a call out of the line cannot cross with its entry, as the interruption of an effect can.
  private enter(network: string, bytes: number, patienceMs: number) {
    return Effect.async<void, ReinsError<"waiting_capacity">>((resume) => {
      const timer = setTimeout(() => {
        this.line.delete(waiting)
        resume(Effect.fail(noPlace))
        // Those behind it may fit now.
        this.goOn()
      }, patienceMs)
      const enter = () => {
        clearTimeout(timer)
        this.take(network, bytes)
        resume(Effect.void)
      }
      const waiting: Waiting = { network, bytes, enter }
      this.line.add(waiting)
      this.goOn()
    })
  }

  private take(network: string, bytes: number): void {
    this.held += bytes
    this.heldOf.set(network, (this.heldOf.get(network) ?? 0) + bytes)
  }

  private leave(network: string, bytes: number): void {
    this.held -= bytes
    const left = (this.heldOf.get(network) ?? 0) - bytes
    if (left > 0) this.heldOf.set(network, left)
    else this.heldOf.delete(network)
    this.goOn()
  }

  private goOn(): void {
    const full = new Set<string>()
    for (const waiting of this.line) {
      const { bytes, network } = waiting
      if (this.held > 0 && this.held + bytes > mostHeld) return
      const own = this.heldOf.get(network) ?? 0
      if (full.has(network) || (own > 0 && own + bytes > mostOfNetwork)) {
        full.add(network)
        continue
      }
      this.line.delete(waiting)
      waiting.enter()
    }
  }
}

const noPlace = new ReinsError({
  code: "waiting_capacity",
  message: "Too many large bodies of hooks come in at once. Send it again.",
  retryAfterSeconds: 1
})
