import { fn } from "@reins/base/base/Traced"
import { HarnessInstall } from "@reins/machine/harness/Install"
import { Effect } from "effect"
import { JobError, type JobKind } from "../jobs/JobKind.js"
import { JobStore } from "../jobs/JobStore.js"
import { Nodes, type NodeView } from "../placement/Nodes.js"
import { installJobKind } from "./HarnessInstallations.js"
import { Providers } from "./Providers.js"

/** Has every other node that can have sessions and lacks an agent install it too, each by a job of its own that nobody reads. */
const onOtherNodes = Effect.gen(function* () {
  const nodes = yield* Nodes
  const jobs = yield* JobStore
  const needs =
    (providerId: string) =>
    ({ name, providers, role, state }: NodeView): boolean =>
      name !== nodes.self &&
      role !== "api" &&
      (state === "active" || state === "draining") &&
      !providers.includes(providerId)

  return (id: string) =>
    Effect.map(nodes.list, (all) =>
      Effect.forEach(
        all.filter(needs(id)),
        ({ name }) =>
          jobs.enqueue({
            kind: installJobKind,
            subject: { type: "harness", id },
            workspaceId: null,
            payload: { on: name },
            maxAttempts: 3,
            onNode: name
          }),
        { discard: true }
      )
    )
})

/**
 * Installs an agent on the machine that works the job, and asks the other nodes for it then. An attempt goes on where the one before stopped, so a lost
 * one is made again.
 */
export const installJob = Effect.map(
  Effect.all([HarnessInstall, Providers, onOtherNodes]),
  ([harnesses, providers, spread]) =>
    ({
      kind: installJobKind,
      forAgents: true,
      concurrency: 1,
      deadlineMs: 30 * 60_000,
      run: fn("installJob.run")(({ claim }) =>
        // Another process may have enabled it.
        Effect.zipRight(providers.known(claim.subject.id), harnesses.install(claim.subject.id)).pipe(
          Effect.catchTags({
            HarnessInstallError: ({ kind, message }) =>
              new JobError({ code: kind, message, retryable: kind === "network" }),
            // The manifests of a server that was started anew may have lost the provider.
            HarnessNotFound: ({ providerId }) =>
              new JobError({
                code: "provider_disabled",
                message: `There is no provider "${providerId}" any more.`,
                retryable: false
              })
          }),
          // A job for one node asks no others.
          Effect.zipRight("on" in claim.payload ? Effect.succeed(Effect.void) : spread(claim.subject.id)),
          Effect.map((command) => ({ state: "succeeded" as const, command }))
        )
      ),
      failed: () => Effect.void,
      lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
    }) satisfies JobKind
)
