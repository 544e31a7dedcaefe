import { Context, Effect, Layer } from "effect"

/**
 * Says "look again" after a commit. A ring carries nothing, may come twice and may be missed when a process dies: whoever listens
 * reads the database to learn what is there, and looks now and then without having been rung.
 */
export class Bell extends Context.Tag("@reins/core/store/Bell")<
  Bell,
  {
    /** Calls everybody who listens to the topic, after the commit that there is something to see of. */
    readonly ring: (topic: string) => Effect.Effect<void>
    /**
     * Calls the listener at each ring of the topic until the returned function is called, and maybe once without a ring when rings of
     * other processes begin to come through. The listener must not throw.
     */
    readonly listen: (topic: string, listener: () => void) => () => void
  }
>() {
  /** A bell that rings in this process only. */
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

/** Rings when a job may be claimed. */
export const jobsTopic = "jobs"

/** Rings when a job has moved. */
export const jobTopic = (jobId: string): string => `${jobsTopic}:${jobId}`

/** Rings when a question was answered or withdrawn. */
export const interactionTopic = (interactionId: string): string => `interaction:${interactionId}`

/** Rings when a session has more events. */
export const sessionTopic = (sessionId: string): string => `session:${sessionId}`
