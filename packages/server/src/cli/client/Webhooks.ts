import { Args, Command, Options } from "@effect/cli"
import type { WebhookDelivery, WebhookEndpoint, WebhookEndpointInput } from "@reins/client"
import { webhookTypes } from "@reins/core/Events"
import { WebhookDeliveryState } from "@reins/core/webhooks/Webhook"
import { Option } from "effect"
import { CommandFailed } from "../CommandFailed.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { harmless, table } from "../terminal/Style.js"
import { attempt, connect } from "./Remote.js"
import { redeliver, sendTest } from "./WebhookDeliveries.js"

const endpointId = Args.text({ name: "endpoint" }).pipe(Args.withDescription("The id of an endpoint"))
const json = Options.boolean("json").pipe(Options.withDescription("Lines of JSON in the place of text"))
const workspace = Options.text("workspace").pipe(
  Options.withDescription("The workspace, by name or id (your own)"),
  Options.optional
)

const ls = Command.make("ls", { json, workspace }, ({ json, workspace }) =>
  attempt(async () => {
    const { reins, workspaceId } = await connect(Option.getOrUndefined(workspace))
    const endpoints: Array<WebhookEndpoint> = []
    for await (const endpoint of reins.webhooks.listEndpoints({ workspace_id: workspaceId })) endpoints.push(endpoint)
    if (json) return endpoints.forEach(printJsonNow)
    if (endpoints.length === 0) return tell("There is no endpoint yet. Make one: reins webhooks add URL")
    const rows = endpoints.map((endpoint) => [
      endpoint.id,
      stateOf(endpoint),
      String(endpoint.pending),
      endpoint.types?.join(",") ?? "all",
      harmless(endpoint.url)
    ])
    process.stdout.write(table([["ENDPOINT", "STATE", "WAITING", "TYPES", "URL"], ...rows]))
  })
).pipe(Command.withDescription("List the webhook endpoints; needs a key with the scope admin"))

const stateOf = ({ disabled_reason, failing_since, paused_until, state }: WebhookEndpoint): string => {
  if (state === "disabled") return `disabled (${disabled_reason})`
  if (paused_until !== null) return `paused until ${minute(paused_until)}`
  return failing_since === null ? state : `failing since ${minute(failing_since)}`
}

const minute = (time: string): string => time.slice(0, 16).replace("T", " ")

const add = Command.make(
  "add",
  {
    json,
    workspace,
    url: Args.text({ name: "url" }).pipe(Args.withDescription("Where deliveries are to be sent")),
    types: Options.text("types").pipe(
      Options.withDescription("Only these events, separated by commas, as turn.action_required,delivery.* (all)"),
      Options.optional
    ),
    project: Options.text("project").pipe(
      Options.withDescription("Only sessions of the project with this id"),
      Options.optional
    ),
    label: Options.text("label").pipe(
      Options.withDescription("Only sessions with this label, as name=value"),
      Options.optional
    ),
    description: Options.text("description").pipe(
      Options.withDescription("The purpose, in your words"),
      Options.optional
    )
  },
  ({ description, json, label, project, types, url, workspace }) =>
    attempt(async () => {
      const { reins, workspaceId } = await connect(Option.getOrUndefined(workspace))
      const endpoint = await reins.webhooks.createEndpoint({
        workspace_id: workspaceId,
        url,
        description: Option.getOrNull(description),
        types: Option.getOrNull(Option.map(types, typesOf)),
        project_id: Option.getOrNull(project),
        label: Option.getOrNull(label)
      })
      showSecret(endpoint, json)
      if (!json) tell(`See whether it arrives: reins webhooks test ${endpoint.id}`)
    })
).pipe(Command.withDescription("Make a webhook endpoint; its secret is printed once"))

type WebhookType = NonNullable<WebhookEndpointInput["types"]>[number]

const isType = (word: string): word is WebhookType => webhookTypes.includes(word)

const typesOf = (text: string): ReadonlyArray<WebhookType> =>
  text.split(",").map((word) => {
    const type = word.trim()
    if (isType(type)) return type
    throw new CommandFailed({ message: `There is no event "${type}". There are: ${webhookTypes.join(", ")}.` })
  })

/** The standard output holds the secret alone, so that a script can read it from there. */
const showSecret = (endpoint: { readonly id: string; readonly secret: string }, json: boolean): void => {
  if (json) {
    printJsonNow(endpoint)
    return
  }
  tell(`The secret of ${endpoint.id} is shown only once:`)
  process.stdout.write(`${endpoint.secret}\n`)
}

const deliveries = Command.make(
  "deliveries",
  {
    json,
    of: Args.text({ name: "of" }).pipe(
      Args.withDescription("The id of an endpoint; or that of a delivery, for its attempts and their answers")
    ),
    state: Options.choice("state", WebhookDeliveryState.literals).pipe(
      Options.withDescription("Only deliveries in this state"),
      Options.optional
    ),
    limit: Options.integer("limit").pipe(Options.withDescription("How many at most (20)"), Options.withDefault(20))
  },
  ({ json, limit, of, state }) =>
    attempt(async () => {
      if (limit < 1 || limit > 100) throw new CommandFailed({ message: "--limit has to be a number from 1 to 100." })
      const { reins } = await connect()
      if (of.startsWith("whd_")) {
        const { attempts, ...delivery } = await reins.webhooks.getDelivery({ webhook_delivery_id: of })
        if (json) return printJsonNow({ ...delivery, attempts })
        process.stdout.write(table([deliveryHead, rowOf(delivery)]))
        const rows = attempts.map(({ answer, duration_ms, error, ordinal, started_at, status }) => [
          String(ordinal),
          minute(started_at),
          status === null ? "-" : String(status),
          `${duration_ms} ms`,
          harmless((error === null ? answer : `${error} ${answer ?? ""}`) ?? "").replaceAll(/\s+/g, " ")
        ])
        return void process.stdout.write(`\n${table([["ATTEMPT", "STARTED", "STATUS", "TOOK", "ANSWER"], ...rows])}`)
      }
      const { items } = await reins.webhooks.listDeliveries({
        webhook_endpoint_id: of,
        limit,
        ...(Option.isSome(state) && { state: state.value })
      })
      if (json) return items.forEach(printJsonNow)
      if (items.length === 0) return tell("There is no such delivery.")
      process.stdout.write(table([deliveryHead, ...items.map(rowOf)]))
    })
).pipe(Command.withDescription("List the newest deliveries of a webhook endpoint, or the attempts of one delivery"))

const deliveryHead = ["DELIVERY", "STATE", "ATTEMPTS", "MADE", "NEXT", "TYPE", "SESSION"]

const rowOf = (delivery: WebhookDelivery): ReadonlyArray<string> => [
  delivery.id,
  delivery.state,
  String(delivery.attempt_count),
  minute(delivery.created_at),
  delivery.retry_at === null ? "-" : minute(delivery.retry_at),
  delivery.type,
  delivery.session_id ?? "-"
]

const rotate = Command.make(
  "rotate",
  {
    endpoint: endpointId,
    json,
    overlap: Options.integer("overlap").pipe(
      Options.withDescription("The seconds for which the secret before signs too (86400, a day)"),
      Options.optional
    )
  },
  ({ endpoint, json, overlap }) =>
    attempt(async () => {
      const { reins } = await connect()
      const seconds = Option.getOrUndefined(overlap)
      const rotated = await reins.webhooks.rotateSecret({
        webhook_endpoint_id: endpoint,
        ...(seconds !== undefined && { overlap_seconds: seconds })
      })
      showSecret(rotated, json)
      const { secret_overlaps_until: until } = rotated
      if (!json)
        tell(until === null ? "The one before signs nothing any more." : `The one before signs too until ${until}.`)
    })
).pipe(Command.withDescription("Replace the secret of a webhook endpoint; the new one is printed once"))

const turned = (name: "enable" | "disable", said: string, description: string) =>
  Command.make(name, { endpoint: endpointId }, ({ endpoint }) =>
    attempt(async () => {
      const { reins } = await connect()
      const { pending } = await reins.webhooks.updateEndpoint({ webhook_endpoint_id: endpoint, state: `${name}d` })
      tell(`${said} Deliveries that wait: ${pending}.`)
    })
  ).pipe(Command.withDescription(description))

const enable = turned(
  "enable",
  "It goes on with what has waited.",
  "Enable a webhook endpoint again, also one that was gone or has failed for days"
)
const disable = turned(
  "disable",
  "It is sent nothing until it is enabled.",
  "Stop the deliveries of a webhook endpoint; what comes meanwhile waits"
)

const rm = Command.make("rm", { endpoint: endpointId }, ({ endpoint }) =>
  attempt(async () => {
    const { reins } = await connect()
    const { url } = await reins.webhooks.removeEndpoint({ webhook_endpoint_id: endpoint })
    tell(`${harmless(url)} (${endpoint}) is sent nothing any more.`)
  })
).pipe(Command.withDescription("Remove a webhook endpoint with its deliveries"))

export const webhooks = Command.make("webhooks").pipe(
  Command.withDescription("Addresses to which the events of a workspace are sent"),
  Command.withSubcommands([ls, add, sendTest, deliveries, redeliver, rotate, enable, disable, rm])
)
