import { rm, writeFile } from "node:fs/promises"
import * as path from "node:path"
import { fn } from "@reins/base/base/Traced"
import { Effect, Redacted } from "effect"
import type { AgentCommand } from "../executor/Executor.js"
import { proxyVariables } from "../outbound/WayOut.js"
import { writeGuidance } from "./Guidance.js"
import { HarnessFailure } from "./HarnessEvent.js"
import type { Manifest, Profile, Runtime } from "./Manifest.js"
import { makeOwnDirectory } from "./OwnDirectory.js"
import type { AgentInput, HarnessConnection } from "./TurnInput.js"

const placeholder = /\{\{\s*(json\s+)?([a-z_]+(?:\.[a-z0-9_]+)?)(?:\|([^}]*))?\s*\}\}/g

/** Replaces the placeholders of a template. Fails with the name of a placeholder that has neither a value nor a default. */
export const render = (template: string, values: Readonly<Record<string, string>>): Effect.Effect<string, string> =>
  Effect.suspend(() => {
    let missing: string | undefined
    const text = template.replace(
      placeholder,
      (_, json: string | undefined, name: string, fallback: string | undefined) => {
        const value = values[name] ?? fallback
        if (value === undefined) missing ??= name
        return json === undefined ? (value ?? "") : JSON.stringify(value ?? "")
      }
    )
    return missing === undefined ? Effect.succeed(text) : Effect.fail(missing)
  })

/** Renders every text and every field name within a value. */
const renderDeep = (value: unknown, values: Readonly<Record<string, string>>): Effect.Effect<unknown, string> => {
  if (typeof value === "string") return render(value, values)
  if (Array.isArray(value)) return Effect.forEach(value, (item) => renderDeep(item, values))
  if (typeof value !== "object" || value === null) return Effect.succeed(value)
  return Effect.forEach(Object.entries(value), ([key, item]) =>
    Effect.all([render(key, values), renderDeep(item, values)])
  ).pipe(Effect.map(Object.fromEntries))
}

const fits =
  (connection: HarnessConnection | null) =>
  ({ when }: Profile): boolean => {
    if (connection === null) return !when.connection
    return (
      when.connection &&
      Object.entries(when.settings ?? {}).every(([name, allowed]) =>
        allowed.includes(connection.settings[name] ?? "")
      ) &&
      (when.secrets ?? []).every((name) => connection.secrets[name] !== undefined)
    )
  }

const namesModel = (templates: unknown): boolean => /\{\{\s*(?:json\s+)?model\s*\}\}/.test(JSON.stringify(templates))

/** True for a provider that starts with no model in none of its profiles for a session with a connection, or for one without. */
export const needsModel = ({ runtime }: Manifest, isConnected: boolean): boolean => {
  if (runtime === null) return false
  const { args, command, environment, profiles } = runtime.launch
  const possible = profiles.filter(({ when }) => when.connection === isConnected)
  return (
    namesModel([command, args, environment]) ||
    (possible.length > 0 && possible.every((profile) => namesModel([profile.environment, profile.files])))
  )
}

/** A version at the end of a path, as in `/v1` and `/v1beta`. Some agents append it themselves. */
const versionAtEnd = /\/v\d+(?:(?:alpha|beta)\d*)?$/

/** The base URL of a connection in the parts that agents ask for. A setting of the same name comes before its part. */
const partsOf = (baseUrl: string | undefined): Readonly<Record<string, string>> => {
  if (baseUrl === undefined || !URL.canParse(baseUrl)) return {}
  const { origin, pathname } = new URL(baseUrl)
  const path = pathname.replace(/(?<!\/)\/+$/, "")
  return { origin, path: path.slice(1), root: `${origin}${path.replace(versionAtEnd, "")}` }
}

const valuesOf = (input: AgentInput): Record<string, string> => ({
  home: (input.seenAt ?? input).homeDir,
  workspace: (input.seenAt ?? input).workspaceDir,
  install: input.installed.directory,
  executable: input.installed.executable,
  node: process.execPath,
  tool_servers: input.toolServers?.map(({ name }) => name).join(",") || `none-${input.leaseId}`,
  ...(input.model === null ? {} : { model: input.model }),
  ...permissionValues(input),
  ...Object.fromEntries(
    Object.entries({ ...partsOf(input.connection?.settings["base_url"]), ...input.connection?.settings }).map(
      ([name, value]) => [`connection.${name}`, value]
    )
  )
})

const permissionValues = ({ isGuarded = false, manifest }: AgentInput): Record<string, string> => {
  const values = manifest.runtime?.launch.permissions?.[isGuarded ? "ask" : "allow"] ?? {}
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [`permissions.${name}`, value]))
}

const missingValue = (manifest: Manifest) => (name: string) =>
  new HarnessFailure({
    reason: "executor_unavailable",
    message:
      name === "model"
        ? `${manifest.provider_id} needs a model: name one in the session's harness or as the connection's preferred_model.`
        : `${manifest.provider_id} cannot start: its connection has no ${name.replace("connection.", "")}. Add it to the connection.`,
    retryable: false
  })

const writeFiles = (files: ReadonlyArray<{ readonly path: string; readonly content: string }>, homeDir: string) =>
  Effect.tryPromise({
    try: async () => {
      const targets = files.map(({ content, path: name }) => ({ content, target: path.join(homeDir, name) }))
      const directories = new Set(targets.map(({ target }) => path.dirname(target)))
      for (const directory of directories) await makeOwnDirectory(homeDir, directory)
      await Promise.all(
        targets.map(async ({ content, target }) => {
          await rm(target, { recursive: true, force: true })
          await writeFile(target, content, { flag: "wx", mode: 0o600 })
        })
      )
    },
    catch: () => unwritable
  })

const unwritable = new HarnessFailure({
  reason: "executor_unavailable",
  message: "The agent's home cannot be written. Check the space and the permissions of the data directory.",
  retryable: true
})

/** Writes the instructions and the skills of the project where the agent finds them. An agent whose manifest names no place gets none. */
const writeGuidanceOf = ({ guidance, homeDir, manifest: { guidance: places } }: AgentInput) =>
  guidance === undefined || places === undefined
    ? Effect.void
    : Effect.flatMap(guidance.read, (found) =>
        Effect.tryPromise({ try: () => writeGuidance(places, found, homeDir), catch: () => unwritable })
      )

const environmentOf = Effect.fnUntraced(function* (
  runtime: Runtime,
  profile: Profile,
  values: Record<string, string>,
  input: AgentInput
) {
  const secrets = Object.entries(input.connection?.secrets ?? {}).map(([name, secret]) => [
    `secret.${name}`,
    Redacted.value(secret)
  ])
  const all = { ...values, ...Object.fromEntries(secrets) }
  const entries = Object.entries({ ...runtime.launch.environment, ...profile.environment })
  const rendered = yield* Effect.forEach(entries, ([name, value]) =>
    Effect.map(
      renderDeep(value, all),
      (result) => [name, Redacted.make(typeof result === "string" ? result : JSON.stringify(result))] as const
    )
  )
  return Object.fromEntries(rendered)
})

/** The provider's own variables would be in the place of the project's without a word. */
const refuseTaken = ({ environment = {}, manifest }: AgentInput, own: Readonly<Record<string, unknown>>) => {
  const taken = Object.keys(environment).find((name) => name in own)
  return taken === undefined
    ? Effect.void
    : new HarnessFailure({
        reason: "executor_unavailable",
        message: `The project's environment has ${taken}, which ${manifest.provider_id} sets itself. Give the variable another name.`,
        retryable: false
      })
}

/** The ports of this service on loopback that the agent is to reach: the relay to its gateway, its way out, and the servers of its tools. */
const relayPortsOf = ({ connection, passage, toolServers = [] }: AgentInput): ReadonlyArray<number> => [
  ...new Set([
    ...(connection?.relayPort === undefined ? [] : [connection.relayPort]),
    ...(passage === undefined ? [] : [passage.port]),
    ...toolServers.map(({ url }) => Number(new URL(url).port))
  ])
]

/**
 * The refusal of an agent that could reach no model: its executor keeps it from the network, and its connection leads nowhere that a relay or
 * a way out could be opened to. It would try again and again for as long as the turn may take.
 */
const unreachable = ({ connection, executor, manifest, passage }: AgentInput): HarnessFailure | undefined =>
  executor.isolation.network !== "restricted" ||
  connection === null ||
  connection.relayPort !== undefined ||
  passage !== undefined
    ? undefined
    : new HarnessFailure({
        reason: "credential_invalid",
        message:
          `${manifest.provider_id} would reach no model in the executor "${executor.backend}", because its connection of the kind ` +
          `"${connection.kind}" names no gateway: add a base_url to the connection, or run the session in an executor whose network is shared.`,
        retryable: false
      })

/** Waits until the workspace of an agent is there. Fails when it cannot be made. */
export const workspaceMade = ({ workspaceMade: made }: AgentInput): Effect.Effect<void, HarnessFailure> =>
  made === undefined ? Effect.void : Effect.flatMap(made, (isMade) => (isMade ? Effect.void : notMade))

const notMade = new HarnessFailure({
  reason: "executor_unavailable",
  message: "The workspace of the agent could not be made.",
  retryable: true
})

/** Writes the agent's configuration into its home and gives the command that starts it. */
export const prepareLaunch = fn("Launch.prepare")(function* (input: AgentInput, runtime: Runtime) {
  const { manifest } = input
  const profile = runtime.launch.profiles.find(fits(input.connection))
  if (profile === undefined) {
    return yield* new HarnessFailure({
      reason: "credential_invalid",
      message: runtime.launch.no_profile,
      retryable: false
    })
  }
  const refusal = unreachable(input)
  if (refusal !== undefined) return yield* refusal
  const values = valuesOf(input)
  const named = Effect.mapError(missingValue(manifest))
  const files = yield* named(
    Effect.forEach(profile.files, (file) =>
      Effect.all({ path: render(file.path, values), content: render(file.content, values) })
    )
  )
  const environment = yield* named(environmentOf(runtime, profile, values, input))
  yield* refuseTaken(input, environment)
  const executable = yield* named(render(runtime.launch.command, values))
  const args = yield* named(Effect.forEach(runtime.launch.args, (arg) => render(arg, values)))
  yield* writeFiles(files, input.homeDir)
  yield* writeGuidanceOf(input)
  const command: AgentCommand = {
    leaseId: input.leaseId,
    executable,
    args,
    workspaceDir: input.workspaceDir,
    homeDir: input.homeDir,
    ...(input.seenAt && { seenAt: input.seenAt }),
    tmpDir: path.join(input.homeDir, runtime.launch.tmp_dir),
    programDirs: [
      input.installed.directory,
      ...(input.additionalDirectories ?? []),
      ...(input.objectsDir === undefined ? [] : [input.objectsDir])
    ],
    relayPorts: relayPortsOf(input),
    environment: { ...input.environment, ...environment, ...(input.passage && proxyVariables(input.passage)) },
    ...(input.limits && { limits: input.limits }),
    stop: runtime.stop
  }
  return command
})
