import { spawnSync } from "node:child_process"
import { once } from "@reins/base/base/Once"
import type { GatewayProtocol } from "@reins/base/domain/GatewayProtocol"
import { CommandFailed } from "@reins/cli/CommandFailed"
import { passwordFrom } from "@reins/cli/client/Password"
import { attempt } from "@reins/cli/client/Remote"
import { ask, isInteractive } from "@reins/cli/terminal/Prompts"
import { EmailAddress } from "@reins/core/identity/Account"
import { normaliseEmail } from "@reins/core/identity/AccountStore"
import * as PasswordRules from "@reins/core/identity/PasswordRules"
import { Effect, Redacted, Schema } from "effect"
import { explain } from "../operator/Accounts.js"

/** The flags of `reins init` that answer a question. */
export interface InitFlags {
  readonly email: string | undefined
  readonly passwordStdin: boolean
  readonly gateway: string | undefined
  readonly protocol: GatewayProtocol | undefined
}

/** A gateway of models, and the key for it. */
export interface Gateway {
  readonly base_url: string
  readonly protocol: GatewayProtocol
  readonly api_key: string
}

/**
 * The facts that only the person knows. Each is an effect that takes its fact from the flags or the environment, or asks for it, the first time
 * that it is run. It fails when the fact is missing and there is nobody to ask, and when it cannot be right.
 */
export const answersFrom = (flags: InitFlags) =>
  Effect.gen(function* () {
    const email = yield* once(emailOf(flags))
    const password = yield* once(Effect.flatMap(email, (address) => passwordOf(flags, address)))
    const gateway = yield* once(attempt(() => gatewayOf(flags)))
    return { email, password, gateway }
  })

export type Answers = Effect.Effect.Success<ReturnType<typeof answersFrom>>

const emailOf = ({ email: given }: InitFlags) =>
  Effect.gen(function* () {
    const email = given ?? (yield* attempt(askForEmail))
    if (Schema.is(EmailAddress)(normaliseEmail(email))) return email
    return yield* new CommandFailed({ message: `"${email}" is not an address, as you@example.com is one.` })
  })

const askForEmail = async (): Promise<string> => {
  if (!isInteractive())
    throw new CommandFailed({ message: "There is no address for your account. Give it with --email." })
  const { stdout } = spawnSync("git", ["config", "user.email"], { encoding: "utf8" })
  return ask.text("The address of your account", stdout?.trim() ?? "")
}

const passwordOf = ({ passwordStdin }: InitFlags, email: string) =>
  Effect.gen(function* () {
    const isAsked = isInteractive() && !passwordStdin && process.env["REINS_PASSWORD"] === undefined
    const password = isAsked
      ? Redacted.make(yield* attempt(() => ask.secret("A password for it, of 8 characters or more")))
      : yield* passwordFrom(passwordStdin)
    yield* Effect.mapError(PasswordRules.requireGoodPassword(password, normaliseEmail(email)), explain)
    return password
  })

const gateways: ReadonlyArray<Pick<Gateway, "protocol"> & { readonly value: string; readonly label: string }> = [
  { value: "https://api.openai.com/v1", label: "OpenAI", protocol: "openai_responses" },
  { value: "https://api.anthropic.com/v1", label: "Anthropic", protocol: "anthropic_messages" },
  { value: "https://openrouter.ai/api/v1", label: "OpenRouter", protocol: "openai_chat" }
]

const gatewayOf = async ({ gateway, protocol }: InitFlags): Promise<Gateway> => {
  const base_url = gateway ?? (await askForGateway())
  if (!URL.canParse(base_url) || !/^https?:$/.test(new URL(base_url).protocol))
    throw new CommandFailed({
      message: `"${base_url}" is not the URL of a gateway, as https://api.openai.com/v1 is one.`
    })
  return {
    base_url,
    protocol: protocol ?? gateways.find(({ value }) => value === base_url)?.protocol ?? "openai_chat",
    api_key: process.env["REINS_GATEWAY_KEY"] || (await askForKey(base_url))
  }
}

const askForGateway = async (): Promise<string> => {
  if (!isInteractive())
    throw new CommandFailed({
      message:
        "There is no connection to models yet. Name their gateway with --gateway, and give its key in REINS_GATEWAY_KEY."
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
