import { errorTexts } from "@reins/base/domain/ErrorTexts"
import { type ErrorCategory, type ErrorCode, errorKinds } from "@reins/base/domain/ReinsError"
import { flagOf, load, type SettingName } from "@reins/server/Config"
import { serverOptions } from "@reins/server/cli/operator/Settings"
import { describe } from "@reins/server/cli/operator/ShowConfig"
import { expected } from "@reins/server/SettingTexts"
import { Effect } from "effect"
import { made, table } from "./Markdown.js"
import { otherVariables, settingTexts } from "./Settings.js"

/** docs/configuration.md */
export const configuration = async (): Promise<string> => {
  const config = await Effect.runPromise(load({}, {}, "/"))
  const defaults = describe(config)
  const rows = Object.entries(settingTexts).map(([name, { does, fallback, unit }]) => {
    const value = defaults[name as SettingName]
    if (fallback === undefined && (value === null || value === "")) throw new Error(`${name} has no default to show`)
    return [
      `\`REINS_${name.toUpperCase()}\``,
      name in serverOptions ? `\`--${flagOf(name as SettingName)}\`` : "",
      fallback ?? `\`${value}\`${unit === undefined ? "" : ` ${unit}`}`,
      does,
      expected[name as SettingName]
    ]
  })
  return `# Configuration

${made("the settings of the server")}Flags win over the environment, and the environment wins over \`reins.json\` in the working directory. That file is a JSON object with the names below in
small letters and without \`REINS_\`. A variable that is empty counts as not set. A setting that cannot be used stops the start, and is named. \`reins config\`
prints what is in force, with secrets masked; \`GET /api/limits\` gives the limits to clients.

<!-- schema: reins.json -->
\`\`\`json
{ "port": 8080, "data_dir": "/srv/reins", "public_url": "https://reins.example.com", "trusted_proxies": "127.0.0.1" }
\`\`\`

## Settings

${table(["Variable", "Flag", "Default", "What it does", "Values"], rows)}
## Other variables

${table(
  ["Variable", "What it does"],
  Object.entries(otherVariables).map(([names, does]) => [
    names
      .split(", ")
      .map((name) => `\`${name}\``)
      .join(", "),
    does
  ])
)}`
}

const categories: Readonly<Record<ErrorCategory, string>> = {
  request: "The request itself",
  authentication: "Who calls",
  access: "What the caller may do",
  state: "The state of a resource",
  concurrency: "Others at the same time",
  credential: "Connections and their credentials",
  capability: "What a provider can do",
  capacity: "Room",
  throttle: "Too much at once",
  changes: "Changesets",
  delivery: "Deliveries and merge requests",
  events: "Events and lists",
  upstream: "Gateways",
  platform: "The server itself"
}

const codes = Object.keys(errorKinds).filter((code): code is ErrorCode => code in errorKinds)

/** docs/errors.md */
export const errors = (): string => `# Errors

${made("packages/base/src/domain/ErrorTexts.ts and ReinsError.ts")}A request that fails is answered with a status and an envelope. Programs tell errors apart by \`code\`. \`message\` says to a person what happened and
what to do next, and never holds a secret. \`details\` has facts for programs. \`request_id\` is the header \`X-Request-Id\` of the answer, and is in the
log of the server.

<!-- schema: ErrorEnvelope -->
\`\`\`json
{
  "error": {
    "code": "turn_active",
    "category": "state",
    "message": "A turn waits or runs in this session. Wait until it has ended, or cancel it.",
    "retryable": false,
    "details": { "turn_id": "turn_01kb8m1q7ye9t8s5x4w3v2u1z0", "queued_turns": 0 },
    "request_id": "d1370e6c-8154-4bfa-92d1-4f28abf9e63d"
  }
}
\`\`\`

With \`retryable: true\` the same request may succeed later: send it again with the same \`Idempotency-Key\`, after the seconds in \`Retry-After\` where
the answer has it. The client does that by itself. A request with a field that is missing or malformed has another form, with one entry for each
wrong field and the status 422:

<!-- schema: HTTPValidationError -->
\`\`\`json
{ "detail": [{ "loc": ["body", "kind"], "msg": "Field required", "type": "missing", "input": {} }] }
\`\`\`

A turn, a delivery, a merge request or a validation that goes wrong is no error of a request. The resource has a \`reason\`, and a \`reason_message\` for
people.

${Object.entries(categories)
  .map(([category, title]) => {
    const own = codes.filter((code) => errorKinds[code].category === category)
    const rows = own.map((code) => [
      `\`${code}\``,
      String(errorKinds[code].status),
      errorKinds[code].retryable ? "yes" : "no",
      errorTexts[code].when,
      errorTexts[code].next
    ])
    return `## ${title}\n\n${table(["Code", "Status", "Retry", "When", "What to do"], rows)}`
  })
  .join("\n")}`
