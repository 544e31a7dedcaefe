import { mkdtemp, rm } from "node:fs/promises"
import { homedir } from "node:os"
import { join } from "node:path"
import { Args, Command, Options } from "@effect/cli"
import * as Embedded from "@reins/core/Embedded"
import { type CapabilityName, capabilityNames } from "@reins/core/harness/Manifest"
import { Manifests } from "@reins/core/harness/Manifests"
import { Effect, Logger, LogLevel, Option } from "effect"
import { CommandFailed } from "./CommandFailed.js"
import type { Checked } from "./Conformance.js"
import * as Installation from "./Installation.js"
import { printJson, tell } from "./Output.js"
import { configOf, installationOptions } from "./Settings.js"
import { table } from "./Style.js"

/** `reins harnesses verify` */
export const verify = Command.make(
  "verify",
  {
    ...installationOptions,
    provider: Args.text({ name: "provider" }),
    json: Options.boolean("json").pipe(Options.withDescription("Print one line of JSON instead of text"))
  },
  ({ json, provider, ...options }) =>
    Effect.gen(function* () {
      const config = yield* configOf(options)
      const manifests = yield* Effect.provide(Manifests, Installation.manifests(config))
      const manifest = Option.getOrUndefined(yield* Effect.option(manifests.get(provider)))
      if (manifest === undefined || manifest.runtime === null)
        return yield* new CommandFailed({
          message: `${provider} is no provider that could run here. See: reins harnesses list`
        })
      const { digest } = yield* Effect.orDie(manifests.originOf(provider))
      const found = yield* Effect.scoped(
        Effect.gen(function* () {
          const key = "sk-verify-0123456789abcdef"
          const { startGateway } = yield* Effect.promise(() => import("reins-example-scripted-gateway/gateway.mjs"))
          const gateway = yield* Effect.acquireRelease(
            Effect.promise(() => startGateway({ apiKey: key })),
            (running) => Effect.promise(() => running.close())
          )
          // Not in the temporary directory: codex refuses a home there.
          const dataDir = yield* Effect.acquireRelease(
            Effect.promise(() => mkdtemp(join(homedir(), ".reins-verify-"))),
            (path) => Effect.promise(() => rm(path, { recursive: true, force: true, maxRetries: 5 }))
          )
          const { checks } = yield* Effect.promise(() => import("./Conformance.js"))
          const { cacheDir } = Installation.coreConfigOf(config)
          const core = Embedded.layer(
            { dataDir, cacheDir, allowPrivateHosts: ["127.0.0.1"], turnDeadlineMs: 180_000 },
            { manifests: Installation.manifests(config) }
          )
          return yield* Effect.provide(checks({ manifest, dataDir, gateway, key }), core)
        })
      ).pipe(Logger.withMinimumLogLevel(LogLevel.None))
      const capabilities = capabilityNames.map((name) => proof(name, manifest.capabilities[name], found))
      const { name, version } = manifest.runtime.agent
      const report = { provider_id: provider, agent: name, version, digest, checks: found, capabilities }
      if (json) yield* printJson({ event: "verified", ...report })
      else
        yield* Effect.sync(() => {
          process.stdout.write(
            table([
              ["CHECK", "RESULT", "EVIDENCE"],
              ...found.map(({ check, evidence, passed }) => [check, passed ? "passed" : "failed", evidence])
            ])
          )
          process.stdout.write(
            `\n${table([["CAPABILITY", "DECLARED", "SHOWN"], ...capabilities.map((each) => [each.capability, each.declared, each.shown])])}`
          )
          tell(`${name} ${version}, manifest ${digest}`)
        })
      // A capability that nobody claims is no fault when it is not there.
      const claimed = (name: CapabilityName | null) => name === null || manifest.capabilities[name] === "supported"
      const failed = found.filter(({ capability, passed }) => !passed && claimed(capability)).map(({ check }) => check)
      if (failed.length > 0)
        return yield* new CommandFailed({ message: `${provider} did not pass: ${failed.join(", ")}.` })
    })
).pipe(
  Command.withDescription(
    "Prove what an installed agent can do, offline, on real turns against a gateway that follows a script"
  )
)

/** A capability as it is declared, and as its evidence lets it be shown. What is declared and not proven is not relied on. */
const proof = (capability: CapabilityName, declared: string, found: ReadonlyArray<Checked>) => {
  const evidence = found.find((each) => each.capability === capability)
  const shown = declared === "supported" && evidence?.passed !== true ? "unproven" : declared
  return { capability, declared, shown, evidence: evidence?.evidence ?? null }
}
