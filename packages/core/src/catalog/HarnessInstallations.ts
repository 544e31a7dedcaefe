import { CoreConfig } from "@reins/base/base/CoreConfig"
import { WorkspaceId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Context, Effect, Layer, ParseResult, Schema } from "effect"
import { Access, type Denied, type ScopeMissing } from "../access/Access.js"
import * as Throttle from "../identity/Throttle.js"
import { JobStore } from "../jobs/JobStore.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import type { AvailableHarness } from "./Catalog.js"
import type { HarnessInstallationAnswer, HarnessInstallationInput } from "./CatalogApi.js"
import { EnabledProviders } from "./EnabledProviders.js"
import { Providers } from "./Providers.js"

export const installJobKind = "harness.install"

/** A job that finds its agent installed costs nothing, so the limit is about registries and disks alone. */
const limit: Throttle.ThrottleLimit = { kind: "harness_installations", max: 10, windowMs: 60 * 60 * 1000 }

/**
 * Installations of agents that are asked for over the API. An owner of a workspace may ask for one: the manifest pins what is downloaded and its
 * digest, and the operator decides which manifests there are, and who may enable those that are part of Reins.
 */
export class HarnessInstallations extends Context.Tag("@reins/core/catalog/HarnessInstallations")<
  HarnessInstallations,
  {
    /**
     * Has the pinned agent of a provider installed, and enables the provider first where the request says so. One that the workspace waits for already
     * is given back instead, and the job of one that is installed ends at once. Fails with `provider_disabled` for a provider that cannot be
     * chosen, and with `forbidden` where the operator alone enables providers. After 10 of a workspace within an hour it fails with `rate_limited`.
     */
    readonly request: (
      principal: Principal,
      workspaceId: string,
      input: HarnessInstallationInput
    ) => Command<
      HarnessInstallationAnswer,
      Denied | ScopeMissing | ReinsError<"provider_disabled" | "rate_limited"> | RequestInvalid
    >
  }
>() {
  static readonly layer = Layer.effect(
    HarnessInstallations,
    Effect.gen(function* () {
      const access = yield* Access
      const { agentsBy } = yield* CoreConfig
      const enabled = yield* EnabledProviders
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

      /** Enables a provider that is part of Reins and off. One that is on needs nothing. */
      const enableOne = Effect.fnUntraced(function* (id: string, accepted: string | undefined) {
        const off = (yield* providers.available).find(({ provider_id }) => provider_id === id)
        if (off === undefined) return yield* Effect.asVoid(providers.requireEnabled(id))
        if (agentsBy === "operator") return yield* operatorEnables(off)
        if (off.license_asked && accepted !== off.license) return yield* licenseAsked(off, accepted)
        yield* enabled.enable([id])
      })

      return HarnessInstallations.of({
        request: (principal, workspaceId, { accept_license, enable, provider_id }) =>
          journal.command(
            "HarnessInstallations.request",
            { by: principal, about: { type: "workspace", id: workspaceId } },
            Effect.gen(function* () {
              yield* access.manage(principal, workspaceId)
              if (enable === true) yield* enableOne(provider_id, accept_license)
              else yield* providers.requireEnabled(provider_id)
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

const operatorEnables = ({ display_name, provider_id }: AvailableHarness) =>
  new ReinsError({
    code: "forbidden",
    message: `${display_name} is off on this server, and its operator alone enables agents: reins harnesses enable ${provider_id}`
  })

const licenseAsked = ({ display_name, license }: AvailableHarness, accepted: string | undefined) =>
  new RequestInvalid({
    loc: ["body", "accept_license"],
    issue: new ParseResult.Type(Schema.Literal(license).ast, accepted, `The licence of ${display_name} is: ${license}`),
    input: accepted
  })
