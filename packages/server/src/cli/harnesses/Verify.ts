import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { homeDirectory } from "@reins/base/base/HomeDirectory"
import { now } from "@reins/base/domain/Timestamp"
import { command, flag, option, optionalArgument } from "@reins/cli/Command"
import { CommandFailed } from "@reins/cli/CommandFailed"
import { printJson, tell } from "@reins/cli/terminal/Output"
import { table } from "@reins/cli/terminal/Table"
import * as Embedded from "@reins/core/Embedded"
import { capabilityNames } from "@reins/machine/harness/Capability"
import { type Check, type Evidence, evidenceSubject, proofsOf, vouched } from "@reins/machine/harness/Evidence"
import { select } from "@reins/machine/harness/HostPlatform"
import { HarnessInstall } from "@reins/machine/harness/Install"
import type { Manifest } from "@reins/machine/harness/Manifest"
import { Manifests } from "@reins/machine/harness/Manifests"
import { Effect, Layer, Logger, LogLevel, Option, Schema } from "effect"
import type { Config } from "../../Config.js"
import * as Installation from "../operator/Installation.js"
import { configOf, installationOptions } from "../operator/Settings.js"
import { proofTable } from "./ProofTable.js"
import { storeEvidence } from "./StoredEvidence.js"

/** `reins harnesses verify` */
export const verify = command({
  takes: {
    provider: optionalArgument("provider", "The agent, by the id of its provider"),
    into: option("into", "The manifest that then brings the evidence along", { value: "file" }),
    quick: flag("quick", "Try only the work and the declared capabilities"),
    only: option("only", "Make this one trial; the evidence of the others is kept", { value: "trial" }),
    table: flag("table", "Print the proven capabilities of every agent, as a table in Markdown"),
    json: flag("json", "Print one line of JSON instead of text"),
    ...installationOptions
  },
  details: "It runs real turns of the agent against a scripted gateway, and keeps the evidence.",
  examples: [
    ["reins harnesses verify alpha", "Prove what OpenCode can do"],
    ["reins harnesses verify --table", "Print what is proven of every agent"]
  ],
  run: ({ into, json, only, provider, quick, table: isTable, ...options }) =>
    Effect.gen(function* () {
      const config = yield* configOf(options)
      if (provider === undefined && !isTable)
        return yield* new CommandFailed({ message: "Name the provider to verify. See: reins harnesses list" })
      if (provider === undefined) return yield* printTable(config)
      const { digest, manifest, seen } = yield* declared(config, provider)
      if (only !== undefined) yield* requireTrial(only, provider, seen)
      const { agent, install } = manifest.runtime
      if (!(yield* isInstalled(config, provider)))
        return yield* new CommandFailed({
          message: `The agent of ${provider} is not installed. Run first: reins harnesses install ${provider}`
        })
      if (into === undefined) yield* Installation.required(config)
      const write = into !== undefined ? yield* writing(into, manifest) : storing(config)
      const found = yield* trial(config, manifest, { isQuick: quick, ...(only !== undefined && { only }) })
      const checks = only === undefined ? found : merged(seen ?? [], found)
      const evidence: Evidence = {
        of: evidenceSubject(manifest),
        agent: `${agent.name} ${agent.version}`,
        platform: select(install.platforms)?.id ?? `${process.platform}-${process.arch}`,
        observed_at: yield* now,
        checks
      }
      const file = yield* write(evidence)
      const proofs = proofsOf(manifest.capabilities, evidence)
      if (json) yield* printJson({ event: "verified", provider_id: provider, digest, file, ...evidence, proofs })
      else
        yield* Effect.sync(() => {
          const results = checks.map(({ check, evidence, passed }) => [check, passed ? "passed" : "failed", evidence])
          const shown = proofs.map((each) => [each.capability, each.declared, each.shown])
          process.stdout.write(table([["CHECK", "RESULT", "EVIDENCE"], ...results]))
          process.stdout.write(`\n${table([["CAPABILITY", "DECLARED", "SHOWN"], ...shown])}`)
          tell(`${evidence.agent}, manifest ${digest}`)
          tell(`Written to ${file}. A server that runs takes it when it is started anew.`)
        })
      if (isTable) yield* printTable(config)
      // A capability that nobody claims is no fault when it is not there.
      const failed = found
        .filter(({ capability, passed }) => !passed && (capability === null || claims(manifest, capability)))
        .map(({ check }) => check)
      if (failed.length > 0)
        return yield* new CommandFailed({ message: `${provider} did not pass: ${failed.join(", ")}.` })
    })
})

/** Prints the proven capabilities of every agent that can run here. */
const printTable = (config: Config) =>
  Effect.gen(function* () {
    const { list, provenOf } = yield* Manifests
    const able = list.filter(({ tier }) => tier !== "disabled")
    const proven = yield* Effect.forEach(able, ({ provider_id }) =>
      Effect.map(Effect.orDie(provenOf(provider_id)), ({ proofs }) => ({ provider_id, proofs }))
    )
    yield* Effect.sync(() => process.stdout.write(proofTable(proven)))
  }).pipe(Effect.provide(Installation.knownManifests(config)))

const claims = ({ capabilities }: Manifest, capability: keyof Manifest["capabilities"]): boolean =>
  capabilities[capability] === "supported"

/** The manifest of a provider that can run, as it was declared: without what its evidence takes back. */
const declared = Effect.fnUntraced(function* (config: Config, provider: string) {
  const manifests = yield* Effect.provide(Manifests, Installation.knownManifests(config))
  const known = Option.getOrUndefined(
    yield* Effect.option(
      Effect.all([manifests.get(provider), manifests.originOf(provider), manifests.provenOf(provider)])
    )
  )
  const runtime = known?.[0].runtime
  if (known === undefined || runtime === null || runtime === undefined)
    return yield* new CommandFailed({
      message: `${provider} is no provider that could run here. See: reins harnesses list`
    })
  const [manifest, { digest }, { evidence, proofs }] = known
  const capabilities = { ...manifest.capabilities }
  for (const { capability, declared } of proofs) capabilities[capability] = declared
  return { digest, manifest: { ...manifest, capabilities, runtime }, seen: evidence?.checks }
})

/** Fails where one trial by itself makes no evidence. */
const requireTrial = Effect.fnUntraced(function* (
  only: string,
  provider: string,
  seen: ReadonlyArray<Check> | undefined
) {
  const { trials } = yield* Effect.promise(() => import("./Conformance.js"))
  if (!trials.includes(only))
    return yield* new CommandFailed({ message: `There is no trial "${only}". Name one of: ${trials.join(", ")}.` })
  if (seen === undefined)
    return yield* new CommandFailed({
      message: `${provider} has no evidence that one trial could be added to. Leave out --only.`
    })
})

/** The checks that were seen before, with those that were made anew in their place. */
const merged = (seen: ReadonlyArray<Check>, found: ReadonlyArray<Check>): ReadonlyArray<Check> => {
  const isAnew = ({ check }: Check) => found.find((each) => each.check === check)
  return [
    ...seen.map((each) => isAnew(each) ?? each),
    ...found.filter(({ check }) => !seen.some((each) => each.check === check))
  ]
}

const isInstalled = (config: Config, provider: string) =>
  Effect.gen(function* () {
    const install = yield* HarnessInstall
    return Option.isSome(yield* Effect.orDie(install.find(provider)))
  }).pipe(
    Effect.provide(
      Layer.provide(
        HarnessInstall.layer(Installation.coreConfigOf(config).cacheDir, config.egress),
        Installation.knownManifests(config)
      )
    )
  )

/** The key that the gateway takes. */
const key = "sk-verify-0123456789abcdef"

/** The longest turn of a trial, and of the one in which the gateway never answers, in milliseconds. */
const deadlineMs = 180_000
const shortDeadlineMs = 20_000

/** Runs the checks in installations of their own, which are removed afterwards. */
const trial = (
  config: Config,
  manifest: Manifest,
  { isQuick, only }: { readonly isQuick: boolean; readonly only?: string }
): Effect.Effect<ReadonlyArray<Check>, CommandFailed> =>
  Effect.scoped(
    Effect.gen(function* () {
      const { abilities, hanging, manners, newPlace, plan } = yield* Effect.promise(() => import("./Conformance.js"))
      const { startGateway } = yield* Effect.promise(() => import("reins-example-scripted-gateway/gateway.mjs"))
      const gateway = yield* Effect.acquireRelease(
        Effect.promise(() => startGateway({ apiKey: key, plan: plan() })),
        (running) => Effect.promise(() => running.close())
      )
      // Not in the temporary directory: codex refuses a home there.
      const directory = yield* Effect.acquireRelease(
        Effect.promise(() => mkdtemp(join(homeDirectory() ?? tmpdir(), ".reins-verify-"))),
        (path) => Effect.promise(() => rm(path, { recursive: true, force: true, maxRetries: 5 }))
      )
      const hopeful = { ...manifest, capabilities: hoped(manifest) }
      const manifests = Manifests.layerOf([vouched(hopeful)])
      const { cacheDir } = Installation.coreConfigOf(config)
      const core = (dataDir: string, turnDeadlineMs: number) =>
        Embedded.layer(
          { dataDir, cacheDir, allowPrivateHosts: ["127.0.0.1"], allowLocalRepositories: true, turnDeadlineMs },
          { manifests }
        )
      const ground = (name: string) => ({
        manifest: hopeful,
        dataDir: join(directory, name),
        gateway,
        key,
        ...(only !== undefined && { only })
      })
      const patient = ground("patient")
      const found = yield* Effect.gen(function* () {
        const place = yield* newPlace(patient)
        const able = yield* abilities(patient, place)
        return isQuick ? able : [...able, ...(yield* manners(patient, place))]
      }).pipe(Effect.provide(core(patient.dataDir, deadlineMs)))
      if (isQuick) return found
      const hasty = ground("hasty")
      return [...found, ...(yield* Effect.provide(hanging(hasty), core(hasty.dataDir, shortDeadlineMs)))]
    })
  ).pipe(
    Logger.withMinimumLogLevel(LogLevel.None),
    Effect.mapError(({ message }) => new CommandFailed({ message: `The trial could not begin. ${message}` }))
  )

/** Everything that is not ruled out is tried, also what nobody knows. */
const hoped = ({ capabilities }: Manifest): Manifest["capabilities"] => {
  const tried = { ...capabilities }
  for (const name of capabilityNames) if (tried[name] === "unknown") tried[name] = "supported"
  return tried
}

const Content = Schema.parseJson(Schema.Struct({}, { key: Schema.String, value: Schema.Unknown }))

const storing = (config: Config) => (evidence: Evidence) => storeEvidence(config.dataDir, evidence)

/** Gives what writes evidence into the file of a manifest, which otherwise stays as it is. Fails unless the file is that manifest. */
const writing = Effect.fnUntraced(function* (file: string, manifest: Manifest) {
  const text = yield* Effect.tryPromise({
    try: () => readFile(file, "utf8"),
    catch: () => new CommandFailed({ message: `${file} cannot be read.` })
  })
  const content = yield* Effect.mapError(
    Schema.decodeUnknown(Content)(text),
    () => new CommandFailed({ message: `${file} is no JSON object.` })
  )
  const { credential, runtime } = content
  if (evidenceSubject({ credential, runtime }) !== evidenceSubject(manifest))
    return yield* new CommandFailed({ message: `${file} is not the manifest of ${manifest.provider_id}.` })
  return (evidence: Evidence) =>
    Effect.promise(async () => {
      await writeFile(file, `${JSON.stringify({ ...content, evidence }, null, 2)}\n`)
      return file
    })
})
