import { WorkspaceId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { Context, Effect, Layer } from "effect"
import { Access, type Denied, type ScopeMissing } from "../access/Access.js"
import * as Throttle from "../identity/Throttle.js"
import { JobStore } from "../jobs/JobStore.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import type { HarnessInstallationAnswer, HarnessInstallationInput } from "./CatalogApi.js"
import { Providers } from "./Providers.js"

export const installJobKind = "harness.install"

/** A job that finds its agent installed costs nothing, so the limit is about registries and disks alone. */
const limit: Throttle.ThrottleLimit = { kind: "harness_installations", max: 10, windowMs: 60 * 60 * 1000 }

/**
 * Installations of agents that are asked for over the API. An owner of a workspace may ask for one: the manifest pins what is downloaded and its
 * digest, and the operator decides which manifests there are.
 */
export class HarnessInstallations extends Context.Tag("@reins/core/catalog/HarnessInstallations")<
  HarnessInstallations,
  {
    /**
     * Has the pinned agent of a provider installed. One that the workspace waits for already is given back instead, and the job of one that is
     * installed ends at once. Fails with `provider_disabled` for a provider that cannot be chosen, and with `rate_limited` after 10 of a
     * workspace within an hour.
     */
    readonly request: (
      principal: Principal,
      workspaceId: string,
      input: HarnessInstallationInput
    ) => Command<HarnessInstallationAnswer, Denied | ScopeMissing | ReinsError<"provider_disabled" | "rate_limited">>
  }
>() {
  static readonly layer = Layer.effect(
    HarnessInstallations,
    Effect.gen(function* () {
      const access = yield* Access
      const jobs = yield* JobStore
      const journal = yield* Journal
      const providers = yield* Providers
      const throttle = yield* Throttle.make

      const takeOne = Effect.fnUntraced(function* (workspaceId: string) {
        if (yield* throttle.take(limit, workspaceId)) return
        const seconds = (yield* throttle.retryAfterSeconds(limit, workspaceId)) ?? 1
        const message = `This workspace has asked for ${limit.max} installations within an hour. Wait ${seconds} seconds.`
        return yield* Throttle.rateLimited("harness_installations", limit, seconds, message)
      })

      return HarnessInstallations.of({
        request: (principal, workspaceId, { provider_id }) =>
          journal.command(
            "HarnessInstallations.request",
            { by: principal, about: { type: "workspace", id: workspaceId } },
            Effect.gen(function* () {
              yield* access.manage(principal, workspaceId)
              yield* providers.requireEnabled(provider_id)
              const inWorkspace = WorkspaceId.make(workspaceId)
              const known = yield* jobs.findLive({
                kind: installJobKind,
                subjectId: provider_id,
                workspaceId: inWorkspace
              })
              if (known !== undefined) return { operation: known }
              yield* takeOne(workspaceId)
              const operation = yield* jobs.enqueue({
                kind: installJobKind,
                subject: { type: "harness", id: provider_id },
                workspaceId: inWorkspace,
                payload: {},
                maxAttempts: 3
              })
              return { operation }
            })
          )
      })
    })
  )
}
