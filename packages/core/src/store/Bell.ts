import { Context, Effect, Layer } from "effect"

/**
 * Says "look again" after a commit. A ring carries nothing, may come twice and may be missed when a process dies: whoever listens
 * reads the database to learn what is there, and looks now and then without having been rung.
 */
export class Bell extends Context.Tag("@reins/core/store/Bell")<
  Bell,
  {
    readonly ring: (topic: string) => Effect.Effect<void>
    /**
     * Calls the listener at each ring of the topic until the returned function is called, and maybe once without a ring when rings of
     * other processes begin to come through. The listener must not throw.
     */
    readonly listen: (topic: string, listener: () => void) => () => void
  }
>() {
  static readonly makeLocal = Effect.sync(() => {
    const topics = new Map<string, Set<() => void>>()
    return Bell.of({
      ring: (topic) =>
        Effect.sync(() => {
          for (const listener of topics.get(topic) ?? []) listener()
        }),
      listen: (topic, listener) => {
        const listeners = topics.get(topic) ?? new Set()
        topics.set(topic, listeners.add(listener))
        return () => {
          listeners.delete(listener)
          if (listeners.size === 0 && topics.get(topic) === listeners) topics.delete(topic)
        }
      }
    })
  })

  /** Rings in this process only, which is enough where one process owns the database. */
  static readonly layer = Layer.effect(Bell, Bell.makeLocal)
}

export const jobsTopic = "jobs"

export const jobTopic = (jobId: string): string => `${jobsTopic}:${jobId}`

export const interactionTopic = (interactionId: string): string => `interaction:${interactionId}`

export const sessionTopic = (sessionId: string): string => `session:${sessionId}`
