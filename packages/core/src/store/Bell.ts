import { Context, Effect, Layer } from "effect"

/**
 * Says "look again" after a commit. A ring carries nothing, may come twice, and is missed when a process dies. So a listener reads the
 * database at each ring, and also looks now and then by itself.
 */
export class Bell extends Context.Tag("@reins/core/store/Bell")<
  Bell,
  {
    /** Wakes all who listen to the topic, in this process and in the others. */
    readonly ring: (topic: string) => Effect.Effect<void>
    /**
     * Calls the listener at each ring of the topic until the returned function is called. It may also call it once without a ring, when
     * rings of other processes begin to come through. The listener must not throw.
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

/** Rings when there may be a job to claim. */
export const jobsTopic = "jobs"

/** Rings when there may be a merge request to look at. */
export const looksTopic = "looks"

/** Rings when the worker of the job should look at it. */
export const jobTopic = (jobId: string): string => `${jobsTopic}:${jobId}`

/** Rings when the interaction has ended. */
export const interactionTopic = (interactionId: string): string => `interaction:${interactionId}`

/** Rings when nobody uses the refresh token of the credential any more. */
export const credentialTopic = (credentialId: string): string => `credential:${credentialId}`

/** Rings when the budget of a turn, a session, an API key or a workspace was set. */
export const budgetTopic = (subjectId: string): string => `budget:${subjectId}`

/** Rings when something is said to the agent of a turn that runs. */
export const steeringTopic = (turnId: string): string => `steering:${turnId}`

/** Rings when an account may have lost a right: a login, a key, a membership, a role, or itself. */
export const accessTopic = (accountId: string): string => `access:${accountId}`

/** Rings when the session has a new event. */
export const sessionTopic = (sessionId: string): string => `session:${sessionId}`

/** Rings when a session of the workspace has a new event that a list of sessions needs. */
export const workspaceTopic = (workspaceId: string): string => `workspace:${workspaceId}`

/** Rings when a follower of the logs of workspaces has another key, or one less. */
export const followersTopic = (name: string): string => `followers:${name}`

/** Rings when there is something to do for a key of a follower besides new events of its workspace. */
export const followerTopic = (name: string, key: string): string => `follower:${name}:${key}`

/** Rings when a node should expect the first turn of a session. */
export const expectedTopic = (node: string): string => `expected:${node}`
