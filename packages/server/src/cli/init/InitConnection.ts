import type { GatewayProtocol } from "@reins/base/domain/GatewayProtocol"
import { CommandFailed } from "@reins/cli/CommandFailed"
import { providerOn } from "@reins/cli/client/Providers"
import { attempt } from "@reins/cli/client/Remote"
import { some } from "@reins/cli/terminal/Listing"
import { tell } from "@reins/cli/terminal/Output"
import { progress } from "@reins/cli/terminal/Progress"
import { ask, isInteractive } from "@reins/cli/terminal/Prompts"
import { harmless } from "@reins/cli/terminal/Style"
import { didYouMean } from "@reins/cli/terminal/Suggestion"
import { type Connection, type Reins, ReinsApiError } from "@reins/client"
import { builtInGateways } from "@reins/core/Core"
import { Effect } from "effect"
import type { Answers, Gateway } from "./InitAnswers.js"

/** The flags of `reins init` about the connection. */
export interface WantedConnection {
  /** The default of the server when absent. */
  readonly provider: string | undefined
  readonly gateway: string | undefined
  readonly protocol: GatewayProtocol | undefined
  readonly model: string | undefined
}

/** A connection of the workspace that the gateway has confirmed, with the model that sessions take. */
export const readyConnection = (
  reins: Reins,
  workspaceId: string,
  wanted: WantedConnection,
  gateway: Answers["gateway"]
) =>
  Effect.gen(function* () {
    const { connection: needed, provider_id } = yield* attempt(() => providerOn(reins, wanted.provider))
    const kind = kindOf(needed?.kind)
    if (kind === undefined) {
      const message = `${provider_id} takes no gateway of models, so \`reins init\` cannot connect it. Add its connection in the console.`
      return yield* new CommandFailed({ message })
    }
    const found = yield* attempt(() =>
      findConnection(reins, workspaceId, { kind: kind.kind, protocols: needed?.protocols }, wanted)
    )
    const check = (connection: Connection, apiKey: string | undefined) =>
      attempt(() => checked(reins, workspaceId, connection, { apiKey, model: wanted.model, provider: provider_id }))
    if (found !== undefined) return yield* check(found, process.env["REINS_GATEWAY_KEY"])
    const given = yield* gateway
    const made = yield* attempt(() => create(reins, workspaceId, kind, given))
    return yield* check(made, given.api_key)
  })

type GatewayKind = (typeof builtInGateways)[number]

/** A kind that a gateway of models and its key make a connection of; undefined for every other one. */
const kindOf = (name: string | undefined): GatewayKind | undefined => builtInGateways.find(({ kind }) => kind === name)

/** The one that sessions would take: the newest, or the one of the gateway that was named, with the key that was given. */
const findConnection = async (
  reins: Reins,
  workspace_id: string,
  needed: { readonly kind: string; readonly protocols: ReadonlyArray<string> | undefined },
  { gateway, protocol }: WantedConnection
): Promise<Connection | undefined> => {
  const all = await reins.connections.list({ workspace_id, limit: 200 }).all()
  const found = all
    .filter((each) => each.kind === needed.kind && each.state === "active")
    .filter(({ settings }) => needed.protocols?.includes(settings["protocol"] ?? "") !== false)
    .filter(({ settings }) => gateway === undefined || settings["base_url"] === gateway)
    .sort((one, other) => other.created_at.localeCompare(one.created_at))[0]
  const api_key = process.env["REINS_GATEWAY_KEY"]
  if (found === undefined || !api_key) return found
  const credential = { ...found.settings, ...(protocol !== undefined && { protocol }), api_key }
  return reins.connections.replaceCredential({ connection_id: found.id, credential })
}

const create = (
  reins: Reins,
  workspace_id: string,
  { kind }: GatewayKind,
  { api_key, base_url, protocol }: Gateway
): Promise<Connection> => {
  const common = { workspace_id, label: new URL(base_url).host }
  const credential = { base_url, api_key }
  switch (kind) {
    case "beta":
      return reins.connections.create({ ...common, kind, credential })
    case "gateway":
      return reins.connections.create({ ...common, kind, credential: { ...credential, protocol } })
    case "alpha_gateway": {
      if (protocol === "gemini")
        throw new CommandFailed({ message: `Connections of the kind ${kind} do not speak ${protocol}.` })
      return reins.connections.create({ ...common, kind, credential: { ...credential, protocol } })
    }
  }
}

interface CheckedConnection {
  readonly gateway: string
  readonly model: string
  /** Sentences on what the person may not expect. */
  readonly notes: ReadonlyArray<string>
}

/** Has the gateway confirm the connection, and gives it the model that sessions take. */
const checked = async (
  reins: Reins,
  workspaceId: string,
  connection: Connection,
  { apiKey, model, provider }: Record<"apiKey" | "model", string | undefined> & { readonly provider: string }
): Promise<CheckedConnection> => {
  // A gateway that lists no models is asked through one of them.
  const before = model ?? connection.preferred_model
  if (before !== null) await prefer(reins, connection, before)
  const settings = await validated(reins, connection, apiKey)
  const models = await listModels(reins, workspaceId, provider)
  const chosen = before ?? (await chooseModel(models))
  await prefer(reins, connection, chosen)
  const [was, is] = [connection.settings["base_url"], settings["base_url"]]
  const moved = was === is ? [] : [`The models are at ${is}: the address ${was} lacked /v1.`]
  return {
    gateway: harmless(is ?? connection.label),
    model: harmless(chosen),
    notes: [...moved, ...unlisted(chosen, models)].map(harmless)
  }
}

/** Says that the gateway does not list a model. It may have it all the same. */
const unlisted = (model: string, models: ReadonlyArray<string>): ReadonlyArray<string> =>
  models.length === 0 || models.includes(model)
    ? []
    : [`The gateway does not list the model ${model}.${didYouMean(model, models)} It lists: ${some(models)}.`]

/** Has the server ask the gateway. A person may try another key when this one is refused. Gives the settings that were confirmed. */
const validated = async (
  reins: Reins,
  { id: connection_id, settings }: Connection,
  apiKey: string | undefined
): Promise<Settings> => {
  let given: Settings = settings
  for (;;) {
    const validation = await validate(reins, connection_id)
    if (validation?.state === "passed") return given
    const longer = withVersion(given["base_url"])
    if (validation?.reason === "unexpected_answer" && longer !== undefined && apiKey) {
      given = { ...given, base_url: longer }
      await reins.connections.replaceCredential({ connection_id, credential: { ...given, api_key: apiKey } })
      continue
    }
    const why = whyRefused(validation?.reason ?? null, given["base_url"] ?? "", given !== settings)
    if (validation?.reason !== "credential_refused" || !isInteractive()) throw new CommandFailed({ message: why })
    tell(why)
    const api_key = await ask.secret("Another API key")
    await reins.connections.replaceCredential({ connection_id, credential: { ...given, api_key } })
  }
}

type Settings = Connection["settings"]

const validate = async (reins: Reins, connection_id: string) => {
  const busy = progress()
  busy.say("Asking the gateway")
  const { operation, validation: begun } = await reins.connections.validate({ connection_id })
  await reins.jobs.wait(operation).finally(busy.clear)
  const all = await reins.connections.listValidations({ connection_id }).all()
  return all.find(({ id }) => id === begun.id)
}

/** The address with the version that gateways have at its end; undefined when it has one. */
const withVersion = (address: string | undefined): string | undefined =>
  address === undefined || /\/v\d\w*\/*$/.test(address) ? undefined : `${address.replace(/(?<!\/)\/+$/, "")}/v1`

/** The sentence for a connection that was not confirmed. */
const whyRefused = (reason: string | null, address: string, isLonger: boolean): string => {
  const gateway = harmless(address)
  switch (reason) {
    case "credential_refused":
      return `The gateway ${gateway} refused the key. Give another one in REINS_GATEWAY_KEY.`
    case "unreachable":
    case "timeout":
      return `The gateway ${gateway} does not answer. Check the address of --gateway, and that it runs.`
    case "address_refused":
      return `The server may not ask ${gateway}. Its operator can allow the host with REINS_ALLOW_PRIVATE_HOSTS.`
    case "tls":
      return `The gateway ${gateway} has a certificate that the server does not trust.`
    case "redirect":
      return `The gateway ${gateway} leads elsewhere. Give its final address with --gateway.`
    case "rate_limited":
      return `The gateway ${gateway} was asked too often. Run this again later.`
    case "quota_exhausted":
      return `The quota of the key for ${gateway} is used up. Raise it, or give another key in REINS_GATEWAY_KEY.`
    case "upstream_error":
      return `The gateway ${gateway} failed. Run this again later.`
    case "model_required":
      return `The gateway ${gateway} lists no models. Name one with --model.`
    case "unexpected_answer":
      return `What answers at ${gateway} is no gateway of models.${isLonger || withVersion(address) === undefined ? "" : " Is /v1 missing?"} Check the address of --gateway.`
    default:
      return `The gateway ${gateway} could not be checked. Check --gateway and --protocol.`
  }
}

const chooseModel = async (models: ReadonlyArray<string>): Promise<string> => {
  const [only] = models
  if (only !== undefined && models.length === 1) return only
  if (isInteractive())
    return models.length === 0 ? ask.text("The model") : ask.oneOf("Which model? Type to search", models)
  const known = models.length === 0 ? "" : ` There are: ${models.slice(0, 20).join(", ")}.`
  throw new CommandFailed({ message: `There is no model to take. Name one with --model.${known}` })
}

/** Not every gateway lists what it has. */
const listModels = async (reins: Reins, workspace_id: string, provider_id: string): Promise<ReadonlyArray<string>> => {
  try {
    return (await reins.catalog.listModels({ workspace_id, provider_id })).items.map(({ id }) => id)
  } catch (error) {
    if (error instanceof ReinsApiError && /^(?:upstream_error|unsupported_capability)$/.test(error.code)) return []
    throw error
  }
}

const prefer = async (reins: Reins, { id, preferred_model }: Connection, model: string): Promise<void> => {
  if (preferred_model !== model) await reins.connections.update({ connection_id: id, preferred_model: model })
}
