import { type Connection, type Reins, ReinsApiError } from "@reins/client"
import { CommandFailed } from "./Accounts.js"
import { tell } from "./Output.js"
import { ask, isInteractive, progress } from "./Prompts.js"
import { harmless } from "./Style.js"

/** What the flags say of the connection. */
export interface WantedConnection {
  readonly provider: string
  readonly gateway: string | undefined
  readonly protocol: string | undefined
  readonly model: string | undefined
}

/** A connection of the workspace that the gateway has confirmed, with the model that sessions take. */
export const readyConnection = async (reins: Reins, workspace_id: string, wanted: WantedConnection) => {
  const kind = await kindOf(reins, wanted.provider)
  const found = await findConnection(reins, workspace_id, kind, wanted)
  const connection = found ?? (await create(reins, workspace_id, kind, wanted))
  const gateway = connection.settings["base_url"] ?? connection.label
  // A gateway that lists no models is asked through one of them.
  const before = wanted.model ?? connection.preferred_model
  if (before !== null) await prefer(reins, connection, before)
  await validate(reins, connection)
  const model = before ?? (await chooseModel(reins, workspace_id, wanted.provider))
  await prefer(reins, connection, model)
  return { gateway: harmless(gateway), model: harmless(model) }
}

/** The kinds that a model's gateway and its key make a connection of. */
const kinds = ["alpha_gateway", "beta"] as const
type Kind = (typeof kinds)[number]

const kindOf = async (reins: Reins, provider: string): Promise<Kind> => {
  const { items } = await reins.catalog.harnesses()
  const entry = items.find(({ provider_id }) => provider_id === provider)
  const enabled = items.filter(({ tier }) => tier !== "disabled").map(({ provider_id }) => provider_id)
  const kind = kinds.find((known) => known === entry?.connection?.kind)
  if (kind !== undefined && enabled.includes(provider)) return kind
  throw new CommandFailed({ message: `There is no provider "${provider}". There are: ${enabled.join(", ")}.` })
}

/** The one that sessions would take: the newest, or the one of the gateway that was named, with the key that was given. */
const findConnection = async (
  reins: Reins,
  workspace_id: string,
  kind: Kind,
  { gateway, protocol }: WantedConnection
): Promise<Connection | undefined> => {
  const { items } = await reins.connections.list({ workspace_id, limit: 200 })
  const found = items
    .filter((each) => each.kind === kind && each.state === "active")
    .filter(({ settings }) => gateway === undefined || settings["base_url"] === gateway)
    .sort((one, other) => other.created_at.localeCompare(one.created_at))[0]
  const api_key = process.env["REINS_GATEWAY_KEY"]
  if (found === undefined || !api_key) return found
  const credential = { ...found.settings, ...(protocol !== undefined && { protocol }), api_key }
  return reins.connections.replaceCredential({ connection_id: found.id, credential })
}

const gateways: ReadonlyArray<{ readonly value: string; readonly label: string; readonly protocol: string }> = [
  { value: "https://api.openai.com/v1", label: "OpenAI", protocol: "openai_responses" },
  { value: "https://api.anthropic.com/v1", label: "Anthropic", protocol: "anthropic_messages" },
  { value: "https://openrouter.ai/api/v1", label: "OpenRouter", protocol: "openai_chat" }
]

const create = async (
  reins: Reins,
  workspace_id: string,
  kind: Kind,
  { gateway, protocol }: WantedConnection
): Promise<Connection> => {
  const base_url = gateway ?? (await askForGateway())
  const speaks = protocol ?? gateways.find(({ value }) => value === base_url)?.protocol ?? "openai_chat"
  const api_key = process.env["REINS_GATEWAY_KEY"] || (await askForKey(base_url))
  return reins.connections.create({
    workspace_id,
    kind,
    label: new URL(URL.canParse(base_url) ? base_url : "http://gateway").host,
    credential: { base_url, api_key, ...(kind === "alpha_gateway" && { protocol: speaks }) }
  })
}

const askForGateway = async (): Promise<string> => {
  if (!isInteractive())
    throw new CommandFailed({
      message:
        "There is no connection to models yet. Name their gateway with --gateway, and its key in REINS_GATEWAY_KEY."
    })
  const other = "other"
  const chosen = await ask.choice("Where are your models?", [
    ...gateways.map(({ label, value }) => ({ value, label, hint: value })),
    { value: other, label: "Another gateway", hint: "its base URL, as OpenAI's libraries take it" }
  ])
  return chosen === other ? ask.text("The base URL of the gateway", "https://") : chosen
}

const askForKey = async (gateway: string): Promise<string> => {
  if (isInteractive()) return ask.secret(`The API key for ${gateway}`)
  throw new CommandFailed({ message: `There is no key for ${gateway}. Give it in REINS_GATEWAY_KEY.` })
}

/** Has the server ask the gateway. A person may try another key when this one is refused. */
const validate = async (reins: Reins, { id: connection_id, settings }: Connection): Promise<void> => {
  for (;;) {
    const busy = progress()
    busy.say("Asking the gateway")
    const { operation, validation: begun } = await reins.connections.validate({ connection_id })
    await reins.jobs.wait({ job_id: operation.job_id }).finally(busy.clear)
    const { items } = await reins.connections.listValidations({ connection_id, limit: 20 })
    const validation = items.find(({ id }) => id === begun.id)
    if (validation?.state === "passed") return
    const why = harmless(validation?.reason_message ?? "The connection could not be checked.")
    if (validation?.reason !== "credential_refused" || !isInteractive()) throw new CommandFailed({ message: why })
    tell(why)
    const api_key = await ask.secret("Another API key")
    await reins.connections.replaceCredential({ connection_id, credential: { ...settings, api_key } })
  }
}

const chooseModel = async (reins: Reins, workspace_id: string, provider_id: string): Promise<string> => {
  const models = await listModels(reins, workspace_id, provider_id)
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
    return (await reins.catalog.models({ workspace_id, provider_id })).items.map(({ id }) => id)
  } catch (error) {
    if (error instanceof ReinsApiError && /^(?:upstream_error|unsupported_capability)$/.test(error.code)) return []
    throw error
  }
}

const prefer = async (reins: Reins, { id, preferred_model }: Connection, model: string): Promise<void> => {
  if (preferred_model !== model) await reins.connections.update({ connection_id: id, preferred_model: model })
}
