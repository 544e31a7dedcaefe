import { Effect } from "effect"
import { fn } from "../base/Traced.js"
import { HarnessInstall } from "../harness/Install.js"
import { JobError, type JobKind } from "../jobs/JobKind.js"
import { installJobKind } from "./HarnessInstallations.js"

/** Installs an agent on the server that works the job. An attempt goes on where the one before stopped, so a lost one is made again. */
export const installJob = Effect.map(
  HarnessInstall,
  (harnesses) =>
    ({
      kind: installJobKind,
      concurrency: 1,
      deadlineMs: 30 * 60_000,
      run: fn("installJob.run")(({ claim }) =>
        harnesses.install(claim.subject.id).pipe(
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
          Effect.as({ state: "succeeded" as const, command: Effect.void })
        )
      ),
      failed: () => Effect.void,
      lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
    }) satisfies JobKind
)
