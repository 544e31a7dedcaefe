import { ReinsValidationError, type WebhookDelivery, type WebhookEndpoint } from "@reins/client"
import { argument, choice, type Example, entry, flag, group, option, whole } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { harmless } from "../terminal/Style.js"
import { table } from "../terminal/Table.js"
import { remoteCommand, workspaceOption } from "./Remote.js"
import { redeliver, sendTest } from "./WebhookDeliveries.js"
import { webhookDeliveryStates } from "./Words.js"

const endpointId = argument("endpoint", "The id of an endpoint")
const json = flag("json", "Lines of JSON in the place of text")

const list = remoteCommand({
  takes: { json, workspace: workspaceOption },
  details: "Needs a key with the scope admin.",
  examples: [
    ["reins webhooks list", "The endpoints, and whether their deliveries get through"],
    ["reins webhooks list --workspace acme --json", "Those of another workspace, for a program"]
  ],
  run: async ({ json, workspace }, connect) => {
    const { reins, workspaceId } = await connect(workspace)
    const endpoints = await reins.webhooks.listEndpoints({ workspace_id: workspaceId }).all()
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
  }
})

const stateOf = ({ disabled_reason, failing_since, paused_until, state }: WebhookEndpoint): string => {
  if (state === "disabled") return `disabled (${disabled_reason})`
  if (paused_until !== null) return `paused until ${minute(paused_until)}`
  return failing_since === null ? state : `failing since ${minute(failing_since)}`
}

const minute = (time: string): string => time.slice(0, 16).replace("T", " ")

const add = remoteCommand({
  takes: {
    address: argument("address", "The URL to which deliveries are sent"),
    types: option("types", "Only these events: turn.action_required,delivery.* (all)", { value: "types" }),
    project: option("project", "Only sessions of this project", { value: "id" }),
    label: option("label", "Only sessions with this label", { value: "name=value" }),
    description: option("description", "The purpose, in your words"),
    json,
    workspace: workspaceOption
  },
  examples: [
    ["reins webhooks add https://example.com/hook", "Send every event"],
    ["reins webhooks add https://example.com/hook --types turn.action_required", "Send questions alone"]
  ],
  run: async ({ address, description = null, json, label = null, project = null, types, workspace }, connect) => {
    const { reins, workspaceId } = await connect(workspace)
    const [first, ...others] = (types ?? "").split(",").map((type) => type.trim())
    const wanted = types === undefined || first === undefined ? null : ([first, ...others] as const)
    const endpoint = await reins.webhooks
      .createEndpoint({
        workspace_id: workspaceId,
        url: address,
        description,
        types: wanted,
        project_id: project,
        label
      })
      .catch(unknownType(wanted ?? []))
    showSecret(endpoint, json)
    if (!json) tell(`See whether it arrives: reins webhooks test ${endpoint.id}`)
  }
})

/** The server knows the types of its release. Its refusal is told with the word that it is about. */
const unknownType =
  (types: ReadonlyArray<string>) =>
  (error: unknown): never => {
    const issue = error instanceof ReinsValidationError ? error.detail.find(({ loc }) => loc[1] === "types") : undefined
    const type = types[Number(issue?.loc[2])]
    if (issue === undefined || type === undefined) throw error
    throw new CommandFailed({ message: `There is no event "${type}". ${issue.msg}.` })
  }

/** The standard output holds the secret alone, so that a script can read it from there. */
const showSecret = (endpoint: { readonly id: string; readonly secret: string }, json: boolean): void => {
  if (json) {
    printJsonNow(endpoint)
    return
  }
  tell(`The secret of ${endpoint.id} is shown only once:`)
  process.stdout.write(`${endpoint.secret}\n`)
}

const deliveries = remoteCommand({
  takes: {
    of: argument("id", "The id of an endpoint; or of a delivery, for its attempts"),
    state: choice("state", webhookDeliveryStates, "Only deliveries in this state"),
    limit: whole("limit", "How many at most (20)", [1, 100]),
    json
  },
  examples: [
    ["reins webhooks deliveries whk_01h… --state failed", "What an endpoint did not get"],
    ["reins webhooks deliveries whd_01h…", "The attempts of one delivery, with their answers"]
  ],
  run: async ({ json, limit = 20, of, state }, connect) => {
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
      ...(state !== undefined && { state })
    })
    if (json) return items.forEach(printJsonNow)
    if (items.length === 0) return tell("There is no such delivery.")
    process.stdout.write(table([deliveryHead, ...items.map(rowOf)]))
  }
})

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

const rotate = remoteCommand({
  takes: {
    endpoint: endpointId,
    overlap: whole("overlap", "The seconds for which the old secret signs too (86400)", [0, 1_000_000_000]),
    json
  },
  examples: [
    ["reins webhooks rotate whk_01h…", "Sign with both secrets for a day"],
    ["reins webhooks rotate whk_01h… --overlap 0", "Stop signing with the old one at once"]
  ],
  run: async ({ endpoint, json, overlap: seconds }, connect) => {
    const { reins } = await connect()
    const rotated = await reins.webhooks.rotateSecret({
      webhook_endpoint_id: endpoint,
      ...(seconds !== undefined && { overlap_seconds: seconds })
    })
    showSecret(rotated, json)
    const { secret_overlaps_until: until } = rotated
    if (!json)
      tell(until === null ? "The one before signs nothing any more." : `The one before signs too until ${until}.`)
  }
})

const turned = (name: "enable" | "disable", said: string, examples: readonly [Example, Example]) =>
  remoteCommand({
    takes: { endpoint: endpointId },
    examples,
    run: async ({ endpoint }, connect) => {
      const { reins } = await connect()
      const { pending } = await reins.webhooks.updateEndpoint({ webhook_endpoint_id: endpoint, state: `${name}d` })
      tell(`${said} Deliveries that wait: ${pending}.`)
    }
  })

const enable = turned("enable", "It goes on with what has waited.", [
  ["reins webhooks enable whk_01h…", "Go on, also after it was gone for days"],
  ["reins webhooks deliveries whk_01h…", "See what gets through"]
])
const disable = turned("disable", "It is sent nothing until it is enabled.", [
  ["reins webhooks disable whk_01h…", "Stop; what comes meanwhile waits"],
  ["reins webhooks enable whk_01h…", "Go on later"]
])

const remove = remoteCommand({
  takes: { endpoint: endpointId },
  examples: [
    ["reins webhooks remove whk_01h…", "Remove an endpoint with its deliveries"],
    ["reins webhooks list", "See first which one it is"]
  ],
  run: async ({ endpoint }, connect) => {
    const { reins } = await connect()
    const { url } = await reins.webhooks.removeEndpoint({ webhook_endpoint_id: endpoint })
    tell(`${harmless(url)} (${endpoint}) is sent nothing any more.`)
  }
})

export const webhooks = group(
  entry("list", "List the endpoints", list),
  entry("add", "Make an endpoint; its secret is printed once", add),
  entry("test", "Send a test and tell the answer", sendTest),
  entry("deliveries", "List the newest deliveries, or the attempts of one", deliveries),
  entry("redeliver", "Deliver again: one, or all that failed since a time", redeliver),
  entry("rotate", "Replace the secret; the new one is printed once", rotate),
  entry("enable", "Enable an endpoint again", enable),
  entry("disable", "Stop the deliveries; what comes meanwhile waits", disable),
  entry("remove", "Remove an endpoint with its deliveries", remove)
)
